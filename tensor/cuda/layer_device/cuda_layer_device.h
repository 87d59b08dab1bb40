// The real LayerDevice: CUDA's runtime, cuBLAS, and cuBLASLt and cuDNN where
// they are.
// Free of CUDA types; a build without the toolkit has the function too.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_
#define TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// Its methods may be called from any thread, one at a time: each sets the
// thread's device. Errors: kUnavailable when the build has no CUDA, the machine
// no driver or no such device, or cuBLAS is not installed. A kernel that fails
// while it runs shows as the error of a later call, since none waits.
absl::StatusOr<std::unique_ptr<LayerDevice>> NewCudaLayerDevice(
    const CudaNnOptions& options);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUDA_LAYER_DEVICE_H_
