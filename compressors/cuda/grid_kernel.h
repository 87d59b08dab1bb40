// The kernel that runs a Work (see grid_launch.h), and its launch. For .cu
// files.
#ifndef COMPRESSORS_CUDA_GRID_KERNEL_H_
#define COMPRESSORS_CUDA_GRID_KERNEL_H_

#include <cuda_runtime.h>

#include "compressors/cuda/grid_launch.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/device_block.h"
#include "tensor/cuda/sparse/device_grid.h"

namespace ps {

// The same number as in tensor/cuda/sparse/sparse_kernels.cu.
constexpr int kGridBlocksPerProcessor = 3;

template <class Work>
__global__ void __launch_bounds__(kSparseThreads, kGridBlocksPerProcessor)
    GridWorkKernel(const __grid_constant__ typename Work::Arguments arguments,
                   typename Work::State* state) {
  using Shared = typename Work::Shared;
  PS_SHARED_MEMORY(Shared, shared);
  DeviceGrid<Shared> grid(shared);
  Work::Run(grid, arguments, state);
}

template <class Work>
cudaError_t MaxGridWorkBlocks(int* num_blocks) {
  return MaxGridBlocks(GridWorkKernel<Work>, kSparseThreads, num_blocks);
}

template <class Work>
cudaError_t LaunchGridWork(const typename Work::Arguments& arguments,
                           int num_blocks, typename Work::State* state,
                           cudaStream_t stream) {
  return LaunchGrid(GridWorkKernel<Work>, num_blocks, kSparseThreads, stream,
                    arguments, state);
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_KERNEL_H_
