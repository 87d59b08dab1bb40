#include "tensor/cuda/cuda_layers.h"

namespace ps {

CudaLayerFactory CudaLayersOfThisBuild() { return nullptr; }

}  // namespace ps
