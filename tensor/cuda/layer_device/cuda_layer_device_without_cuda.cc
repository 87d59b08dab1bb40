// For machines without the CUDA toolkit.

#include "tensor/cuda/layer_device/cuda_layer_device.h"

namespace ps {

absl::StatusOr<std::unique_ptr<LayerDevice>> NewCudaLayerDevice(
    const CudaNnOptions&) {
  return absl::UnavailableError("this build has no CUDA support");
}

}  // namespace ps
