// Convolutions on CUDA: each pass is computed by the device's library (cuDNN)
// if it can, else as matrix products.
#ifndef TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_
#define TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Scratch for the matrices of as many images as fit, but at least one.
inline constexpr int64_t kMaxColumnBytes = int64_t{128} << 20;

// See NnKernels::PlanConvolution. `device` outlives the operation. If products
// are used, each covers as many images as have columns of at most
// max_column_bytes, and the weights' gradients are added up in the order of the
// images.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaConvolution(
    LayerDevice* device, const ConvolutionShape& shape,
    const ActivationDesc& input, int64_t max_column_bytes = kMaxColumnBytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_
