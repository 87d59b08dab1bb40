// A backend of the layers on any LayerDevice.
#ifndef TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_
#define TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_

#include <memory>
#include <string>

#include "tensor/backend.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// Its sparse() have what layers use (device_sparse_kernels.h).
std::unique_ptr<Backend> NewDeviceBackend(std::string name,
                                          std::shared_ptr<LayerDevice> device,
                                          int num_threads);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_DEVICE_BACKEND_H_
