// The device code behind LayerDevice::Run. It must not use Abseil, since nvcc
// compiles it.
#ifndef TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_
#define TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_

#include <cstdint>

namespace ps {

// Launches the kernel with index `kernel` in AllKernels on `stream`, a
// cudaStream_t of the current device. core: a core of that kernel's type; it is
// copied. count: number of elements or blocks, at least 1. Returns a
// cudaError_t; 0 is success.
int LaunchKernel(int kernel, const void* core, int64_t count, void* stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_
