// The only vector operation that layers need from a backend's SparseKernels, on
// memory of any LayerDevice.
#ifndef TESTS_TENSOR_CUDA_LAYERS_DEVICE_SPARSE_KERNELS_H_
#define TESTS_TENSOR_CUDA_LAYERS_DEVICE_SPARSE_KERNELS_H_

#include <memory>

#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Implements Clear; every other method returns an error. `device` outlives the
// result.
std::unique_ptr<SparseKernels> NewDeviceSparseKernels(LayerDevice* device);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_DEVICE_SPARSE_KERNELS_H_
