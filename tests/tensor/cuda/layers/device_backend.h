// A backend with the layers of any LayerDevice.
#ifndef TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_
#define TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/recording.h"

namespace ps {

using RecordFunction = std::function<absl::StatusOr<std::unique_ptr<Recording>>(
    const std::function<absl::Status()>& work)>;

// record: the device's implementation of Backend::Record. sparse() has only the
// operations that layers use (device_sparse_kernels.h).
std::unique_ptr<Backend> NewDeviceBackend(std::string name,
                                          std::shared_ptr<LayerDevice> device,
                                          int num_threads,
                                          RecordFunction record);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_
