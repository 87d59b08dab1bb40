// The layers of CUDA backends: the one place where they are named.
#ifndef TENSOR_CUDA_CUDA_LAYERS_H_
#define TENSOR_CUDA_CUDA_LAYERS_H_

#include "tensor/cuda/cuda_backend.h"

namespace ps {

// Whether their tests have passed on a device; docs/gpu_results.md has the run.
constexpr bool kCudaLayersHaveRun = false;

// For CudaBackendOptions.layers: deterministic, without TF32, all their memory
// from the region. Null in a build without CUDA, where no model can be trained
// there. Errors of the factory: kUnavailable where cuBLAS is not installed.
CudaLayerFactory CudaLayersOfThisBuild();

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_LAYERS_H_
