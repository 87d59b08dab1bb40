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

// Blocks that run on a multiprocessor at a time: while one packs or adds up a
// tile, the other loads. With 64 registers a thread they leave half of the
// registers and three quarters of the threads to the backward pass, which runs
// beside them on another stream; a third block would gain little, since 64 KB
// are under way with two.
constexpr int kGridBlocksPerProcessor = 2;
// What keeps a thread at 64 registers.
constexpr int kGridBlocksThatFit = 65536 / (64 * kSparseThreads);

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
