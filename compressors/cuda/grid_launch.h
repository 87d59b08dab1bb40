// Launches a compressor's work on a grid of blocks that wait for each other.
// nvcc compiles this header, so it includes no Abseil.
//
// A Work is a type that defines the parts of a grid's work:
//
//     struct Work {
//       using Arguments = ...;  // The arguments of a launch.
//       using State = ...;      // The result, in device memory.
//       using Shared = ...;     // A block's shared memory in one phase.
//       template <class Grid>
//       PS_HOST_DEVICE static void Run(Grid& grid, const Arguments&, State*);
//     };
//
// tensor/cuda/sparse/cores/host_device.h describes a Grid. One .cu file
// instantiates the functions here for each Work (grid_kernel.h).
#ifndef COMPRESSORS_CUDA_GRID_LAUNCH_H_
#define COMPRESSORS_CUDA_GRID_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The maximum number of blocks of a launch: all must be on the current device
// at a time, since they wait for each other, and they leave room for layers.
template <class Work>
cudaError_t MaxGridWorkBlocks(int* num_blocks);

// Queues one launch of num_blocks blocks, at least 1, on `stream` and returns
// at once, with the error of the launch. Pointers refer to device memory, which
// must stay allocated until the work is done. No other launch may use `barrier`
// at the same time.
template <class Work>
cudaError_t LaunchGridWork(const typename Work::Arguments& arguments,
                           int num_blocks, typename Work::State* state,
                           GridBarrier* barrier, cudaStream_t stream);

// Use at the end of a file that defines both functions.
#define PS_INSTANTIATE_GRID_WORK(Work)                           \
  template cudaError_t MaxGridWorkBlocks<Work>(int* num_blocks); \
  template cudaError_t LaunchGridWork<Work>(                     \
      const Work::Arguments&, int, Work::State*, GridBarrier*, cudaStream_t)

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_LAUNCH_H_
