// Launches one of the compressors' grids, whose blocks wait for each other. No
// Abseil here: nvcc compiles this.
//
// A Work is a type that names the parts of a grid's work:
//
//     struct Work {
//       using Arguments = ...;  // Of a launch.
//       using State = ...;      // In the device's memory: what comes of it.
//       using Shared = ...;     // A block's shared memory, of one phase.
//       template <class Grid>
//       PS_HOST_DEVICE static void Run(Grid& grid, const Arguments&, State*);
//     };
//
// A Grid is said in tensor/cuda/sparse/cores/host_device.h. One .cu file
// instantiates the functions here for each Work (grid_kernel.h), and so do
// tests for an emulated device.
#ifndef COMPRESSORS_CUDA_GRID_LAUNCH_H_
#define COMPRESSORS_CUDA_GRID_LAUNCH_H_

#include <cuda_runtime_api.h>

namespace ps {

// How many blocks fit the current device at a time: no more may wait for each
// other.
template <class Work>
cudaError_t MaxGridWorkBlocks(int* num_blocks);

// One launch of num_blocks blocks, at least 1. Queues it on `stream` and
// returns at once, with the error of the launch. Pointers are to the device's
// memory, which must stay until the work is done.
template <class Work>
cudaError_t LaunchGridWork(const typename Work::Arguments& arguments,
                           int num_blocks, typename Work::State* state,
                           cudaStream_t stream);

// At the end of a file that defines the two.
#define PS_INSTANTIATE_GRID_WORK(Work)                                   \
  template cudaError_t MaxGridWorkBlocks<Work>(int* num_blocks);         \
  template cudaError_t LaunchGridWork<Work>(const Work::Arguments&, int, \
                                            Work::State*, cudaStream_t)

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_LAUNCH_H_
