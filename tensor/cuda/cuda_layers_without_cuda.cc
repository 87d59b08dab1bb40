// For machines without the CUDA toolkit.

#include "tensor/cuda/cuda_layers.h"

namespace ps {

CudaLayerFactory CudaLayersOfThisBuild(const CudaNnOptions&) { return nullptr; }

}  // namespace ps
