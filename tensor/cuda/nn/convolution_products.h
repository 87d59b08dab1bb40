// A convolution without its bias, computed as matrix products: for passes that
// cuDNN does not compute.
#ifndef TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_
#define TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/convolution_passes.h"

namespace ps {

// `device` outlives the result. The weights' gradients are added up in the
// order of the images.
absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanConvolutionProducts(
    LayerDevice* device, const ConvolutionGeometry& geometry);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CONVOLUTION_PRODUCTS_H_
