// The layers of CUDA backends: the one place where they are named.
#ifndef TENSOR_CUDA_CUDA_LAYERS_H_
#define TENSOR_CUDA_CUDA_LAYERS_H_

#include "tensor/cuda/cuda_backend.h"
#include "tensor/precision.h"

namespace ps {

// Whether their tests have passed on a device; docs/gpu_results.md has the run.
constexpr bool kCudaLayersHaveRun = false;

struct CudaLayersOptions {
  Precision precision = Precision::kFp32;
  // The same bits from run to run; see CudaNnOptions.
  bool deterministic = true;
};

// For CudaBackendOptions.layers: all their memory is from the region. Null in a
// build without CUDA, where no model can be trained there. Errors of the
// factory: kUnavailable where cuBLAS is not installed.
CudaLayerFactory CudaLayersOfThisBuild(const CudaLayersOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_LAYERS_H_
