// The device code behind LayerDevice::Run. No Abseil here: nvcc compiles this.
#ifndef TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_
#define TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_

#include <cstdint>

namespace ps {

// Launches the kernel at place `kernel` of AllKernels on the stream, a
// cudaStream_t, of the current device. core: of that kernel's type; copied.
// count: elements or blocks, at least 1. Returns a cudaError_t; 0 is success.
int LaunchKernel(int kernel, const void* core, int64_t count, void* stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_LAUNCH_KERNEL_H_
