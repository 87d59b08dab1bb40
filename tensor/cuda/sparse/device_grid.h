// Grids on the device whose blocks can wait for each other. For .cu files.
#ifndef TENSOR_CUDA_SPARSE_DEVICE_GRID_H_
#define TENSOR_CUDA_SPARSE_DEVICE_GRID_H_

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {

// The view of one thread, in a kernel launched by LaunchGrid. See
// cores/host_device.h.
template <class Shared>
class DeviceGrid {
 public:
  PS_HOST_DEVICE explicit DeviceGrid(Shared* shared) : shared_(shared) {}

  // Every thread of the grid must call this.
  template <class Body>
  PS_HOST_DEVICE void Phase(const Body& body) {
#ifdef __CUDA_ARCH__
    body(block_, int64_t{blockIdx.x}, int64_t{gridDim.x}, shared_);
    cooperative_groups::this_grid().sync();
#else
    (void)body;
#endif
  }

 private:
  DeviceBlock block_;
  Shared* const shared_;
};

// The maximum number of blocks of a kernel that can be resident on the current
// device at a time.
template <class Kernel>
cudaError_t MaxGridBlocks(Kernel kernel, int threads, int* num_blocks) {
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) {
    return error;
  }
  int processors = 0;
  if (const cudaError_t error = cudaDeviceGetAttribute(
          &processors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess) {
    return error;
  }
  int per_processor = 0;
  if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &per_processor, kernel, threads, /*dynamicSMemSize=*/0);
      error != cudaSuccess) {
    return error;
  }
  *num_blocks = processors * per_processor;
  return cudaSuccess;
}

// Launches a kernel whose blocks are all resident at the same time; fails if
// they do not fit.
template <class... Parameters>
cudaError_t LaunchGrid(void (*kernel)(Parameters...), int64_t num_blocks,
                       int threads, cudaStream_t stream, Parameters... values) {
  void* pointers[] = {&values...};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel),
                                     dim3(static_cast<unsigned>(num_blocks)),
                                     dim3(static_cast<unsigned>(threads)),
                                     pointers, /*sharedMem=*/0, stream);
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_DEVICE_GRID_H_
