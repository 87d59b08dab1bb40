// The layers of CUDA backends; the only place that names them.
#ifndef TENSOR_CUDA_CUDA_LAYERS_H_
#define TENSOR_CUDA_CUDA_LAYERS_H_

#include "tensor/cuda/cuda_backend.h"
#include "tensor/precision.h"

namespace ps {

struct CudaLayersOptions {
  Precision precision = Precision::kFp32;
  // See CudaNnOptions.
  bool deterministic = true;
  bool cudnn_recurrent = false;
  // Whether to use these libraries where they are installed.
  bool use_cudnn = true;
  bool use_cublas_lt = true;
};

// A factory for CudaBackendOptions.layers; the layers take all their memory
// from the region. Null in a build without CUDA, where no model can be trained
// on a device. Errors of the factory: kUnavailable if cuBLAS is not installed.
CudaLayerFactory CudaLayersOfThisBuild(const CudaLayersOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_LAYERS_H_
