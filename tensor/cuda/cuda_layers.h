// The layers of CUDA backends: the one place where they are named.
#ifndef TENSOR_CUDA_CUDA_LAYERS_H_
#define TENSOR_CUDA_CUDA_LAYERS_H_

#include "tensor/cuda/cuda_backend.h"

namespace ps {

// For CudaBackendOptions.layers. Null if this build has no layers for CUDA, so
// that models cannot be trained there.
CudaLayerFactory CudaLayersOfThisBuild();

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_LAYERS_H_
