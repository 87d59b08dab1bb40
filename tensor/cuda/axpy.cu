// y += a x: the smallest kernel that shows that device code runs.

#include <cuda_runtime.h>

#include <algorithm>

#include "tensor/cuda/axpy.h"

namespace ps {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1024;

__global__ void __launch_bounds__(kThreads)
    AxpyKernel(float a, const float* __restrict__ x, int64_t n,
               float* __restrict__ y) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    y[i] += a * x[i];
  }
}

// Device memory that frees itself. It keeps the first error of a chain of
// calls.
class DeviceVector {
 public:
  DeviceVector(int64_t n, cudaError_t* error) : size_bytes_(n * sizeof(float)) {
    if (*error == cudaSuccess) *error = cudaMalloc(&data_, size_bytes_);
  }
  // Nothing useful can be done about an error here; the device reports it
  // again on the next call.
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  void CopyFrom(const float* host, cudaError_t* error) {
    if (*error != cudaSuccess) return;
    *error = cudaMemcpy(data_, host, size_bytes_, cudaMemcpyHostToDevice);
  }
  void CopyTo(float* host, cudaError_t* error) const {
    if (*error != cudaSuccess) return;
    *error = cudaMemcpy(host, data_, size_bytes_, cudaMemcpyDeviceToHost);
  }

  float* data() { return data_; }

 private:
  const size_t size_bytes_;
  float* data_ = nullptr;
};

}  // namespace

int AxpyOnDevice(float a, const float* host_x, int64_t n, float* host_y) {
  if (n < 1) return cudaSuccess;
  cudaError_t error = cudaSetDevice(0);
  DeviceVector device_x(n, &error);
  DeviceVector device_y(n, &error);
  device_x.CopyFrom(host_x, &error);
  device_y.CopyFrom(host_y, &error);
  if (error != cudaSuccess) return error;
  const int64_t blocks =
      std::min<int64_t>((n + kThreads - 1) / kThreads, kMaxBlocks);
  AxpyKernel<<<static_cast<unsigned>(blocks), kThreads>>>(a, device_x.data(), n,
                                                          device_y.data());
  error = cudaGetLastError();
  device_y.CopyTo(host_y, &error);  // Waits for the kernel.
  return error;
}

}  // namespace ps
