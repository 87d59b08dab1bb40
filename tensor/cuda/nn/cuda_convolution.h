// Convolutions on CUDA: by the device's library where it has one, which is
// cuDNN, else as products of matrices.
#ifndef TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_
#define TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Scratch for the matrices of as many images as fit, at least of one.
inline constexpr int64_t kMaxColumnBytes = int64_t{128} << 20;

// See NnKernels::PlanConvolution. `device` outlives the operation. Products are
// made for as many images at a time as have columns of max_column_bytes, and
// the gradients of the weights added up in their order.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaConvolution(
    LayerDevice* device, const ConvolutionShape& shape,
    const ActivationDesc& input, int64_t max_column_bytes = kMaxColumnBytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_CONVOLUTION_H_
