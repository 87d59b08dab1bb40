// The real LayerDevice: CUDA's runtime, cuBLAS, and also cuBLASLt and cuDNN if
// they are installed. This header has no CUDA types; the function also exists
// in a build without the toolkit.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_
#define TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// The device's methods may be called from any thread, one at a time: each sets
// the thread's current device. Errors: kUnavailable if the build has no CUDA,
// the machine no driver or no such device, or cuBLAS is not installed. The
// failure of a running kernel shows as the error of a later call, since no call
// waits for kernels.
absl::StatusOr<std::unique_ptr<LayerDevice>> NewCudaLayerDevice(
    const CudaNnOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_
