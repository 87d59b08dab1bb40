// A convolution without its bias, computed as matrix products: for passes that
// cuDNN does not compute.
#ifndef TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_
#define TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/convolution_passes.h"

namespace ps {

// Scratch for the rows of as many images as fit, but at least one.
inline constexpr int64_t kMaxRowBytes = int64_t{128} << 20;

// `device` outlives the result. Each product covers as many images as have rows
// of at most max_row_bytes, as floats; the weights' gradients are added up in
// the order of the images.
absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanConvolutionProducts(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_row_bytes = kMaxRowBytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_
