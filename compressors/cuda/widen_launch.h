// Launches the kernel that widens 16-bit floats. nvcc compiles this header, so
// it includes no Abseil.
#ifndef COMPRESSORS_CUDA_WIDEN_LAUNCH_H_
#define COMPRESSORS_CUDA_WIDEN_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "compressors/cuda/widening.h"

namespace ps {

// Queues the widening of n elements, at least 1, on `stream` and returns at
// once, with the error of the launch.
cudaError_t LaunchWiden(const WidenCodes<Bf16>& widen, int64_t n,
                        cudaStream_t stream);
cudaError_t LaunchWiden(const WidenCodes<Fp16>& widen, int64_t n,
                        cudaStream_t stream);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_WIDEN_LAUNCH_H_
