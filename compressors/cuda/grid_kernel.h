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

// Blocks on a multiprocessor: while one packs or adds up a tile, the other
// loads. They leave three quarters of the threads and three eighths of the
// registers to the backward pass, which runs beside them on another stream. A
// third block would gain little: with two, 64 KB are under way.
constexpr int kGridBlocksPerProcessor = 2;
// Blocks that would fit: keeps a thread at 80 registers, of which loads
// take 32.
constexpr int kGridBlocksThatFit = 3;

template <class Work>
__global__ void __launch_bounds__(kSparseThreads, kGridBlocksThatFit)
    GridWorkKernel(const __grid_constant__ typename Work::Arguments arguments,
                   typename Work::State* state, GridBarrier* barrier) {
  using Shared = typename Work::Shared;
  PS_SHARED_MEMORY(Shared, shared);
  DeviceGrid<Shared> grid(shared, barrier);
  Work::Run(grid, arguments, state);
}

template <class Work>
cudaError_t MaxGridWorkBlocks(int* num_blocks) {
  return MaxGridBlocks(GridWorkKernel<Work>, kSparseThreads,
                       kGridBlocksPerProcessor, num_blocks);
}

template <class Work>
cudaError_t LaunchGridWork(const typename Work::Arguments& arguments,
                           int num_blocks, typename Work::State* state,
                           GridBarrier* barrier, cudaStream_t stream) {
  return LaunchGrid(GridWorkKernel<Work>, num_blocks, kSparseThreads, stream,
                    arguments, state, barrier);
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_KERNEL_H_
