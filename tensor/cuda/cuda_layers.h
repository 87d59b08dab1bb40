// The layers of CUDA backends; the only place that names them.
#ifndef TENSOR_CUDA_CUDA_LAYERS_H_
#define TENSOR_CUDA_CUDA_LAYERS_H_

#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"

namespace ps {

// A factory for CudaBackendOptions.layers; the layers take all their memory
// from the region. The device, the stream and the allocation of the options are
// those of the backend. Errors of the factory: kUnavailable if cuBLAS is not
// installed.
CudaLayerFactory CudaLayersOfThisBuild(const CudaNnOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_LAYERS_H_
