// Launchers of SIDCo's passes. No Abseil here: nvcc compiles this.
//
// All queue work on `stream` and return at once, with the error of the launch.
// Pointers are to the device's memory. A pass does nothing where nothing is
// asked for any more.
#ifndef COMPRESSORS_CUDA_SIDCO_LAUNCH_H_
#define COMPRESSORS_CUDA_SIDCO_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "compressors/cuda/sidco_passes.h"

namespace ps {

// arguments.input.n is at least 1.
cudaError_t LaunchPass(const SidcoPasses* passes,
                       const SiftArguments& arguments, cudaStream_t stream);
cudaError_t LaunchAdvance(const ChunkStats* stats, int64_t num_chunks,
                          SidcoPasses* passes, cudaStream_t stream);
cudaError_t LaunchCountSelected(const SidcoPasses* passes,
                                const SiftArguments& arguments,
                                cudaStream_t stream);
cudaError_t LaunchWriteSelected(const SidcoPasses* passes,
                                const SelectArguments& arguments,
                                cudaStream_t stream);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SIDCO_LAUNCH_H_
