// The device code behind CudaSelfCheck. It must not use Abseil, since nvcc
// compiles it.
#ifndef TENSOR_CUDA_AXPY_H_
#define TENSOR_CUDA_AXPY_H_

#include <cstdint>

namespace ps {

// y[i] += a x[i] on the first device. x, y: [n], host memory, which is copied
// to the device and back; complete when the call returns. Returns a
// cudaError_t; 0 is success.
int AxpyOnDevice(float a, const float* host_x, int64_t n, float* host_y);

}  // namespace ps

#endif  // TENSOR_CUDA_AXPY_H_
