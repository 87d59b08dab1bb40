// The device code behind CudaSelfCheck. No Abseil here: nvcc compiles this.
#ifndef TENSOR_CUDA_AXPY_H_
#define TENSOR_CUDA_AXPY_H_

#include <cstdint>

namespace ps {

// y[i] += a x[i] on the first device. x, y: [n], host memory; copied there and
// back, and done when the call returns. Returns a cudaError_t; 0 is success.
int AxpyOnDevice(float a, const float* host_x, int64_t n, float* host_y);

}  // namespace ps

#endif  // TENSOR_CUDA_AXPY_H_
