// Convolutions on CUDA: each pass is computed by cuDNN if it can, else as
// matrix products.

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/libraries/cudnn_functions.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/convolution_passes.h"
#include "tensor/cuda/nn/convolution_products.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/cudnn_convolution.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Converts weights and plain images to the form that the classes need which
// compute the passes.
class CudaConvolution final : public BiasedOp {
 public:
  CudaConvolution(LayerDevice* device, const ConvolutionGeometry& g,
                  const Shape& output, bool has_bias)
      : BiasedOp(device, output, ChannelGeometry(device->storage(), output),
                 has_bias),
        device_(device),
        g_(g) {}

  absl::Status Plan(Storage input) {
    PS_RETURN_IF_ERROR(PlanPasses());
    PS_ASSIGN_OR_RETURN(
        weight_,
        ProductFactor::Weights(device_, {g_.num_weights(), g_.group_channels(),
                                         g_.kernel_pixels()}));
    if (input != device_->storage()) {
      PS_ASSIGN_OR_RETURN(
          x_,
          ProductFactor::Copied(device_, {g_.batch * g_.channels * g_.pixels(),
                                          g_.channels, g_.pixels()}));
    }
    return ReserveBiasScratch();
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_RETURN_IF_ERROR(weight_.Take(device_, weight));
    PS_RETURN_IF_ERROR(TakeInput(x));
    PS_RETURN_IF_ERROR(
        Of(ConvolutionPass::kForward).Forward(x_.of(x), weight_.of(weight), y));
    return FinishOutput(bias, y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    if (holds_gradient_) PS_RETURN_IF_ERROR(TakeInput(x));
    PS_RETURN_IF_ERROR(Of(ConvolutionPass::kBackwardWeights)
                           .BackwardWeights(x_.of(x), dy, dweight));
    PS_RETURN_IF_ERROR(SumOutputGradient(dy, dbias));
    if (dx == nullptr) return absl::OkStatus();
    ConvolutionPasses& data = Of(ConvolutionPass::kBackwardData);
    if (!x_.is_copy()) {
      return data.BackwardData(weight_.of(weight), dy, dx);
    }
    // Overwrites the copy of x; a second Backward, which is not expected, would
    // copy again.
    holds_gradient_ = true;
    PS_RETURN_IF_ERROR(data.BackwardData(weight_.of(weight), dy, x_.data()));
    if (x_.reorders()) device_->CountReorder();
    return x_.ToPlain(device_, dx);
  }

 private:
  // The passes that cuDNN does not compute are products of matrices.
  absl::Status PlanPasses() {
    if (device_->options().use_cudnn) PS_RETURN_IF_ERROR(PlanCudnn());
    for (const ConvolutionPass pass :
         {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
          ConvolutionPass::kBackwardWeights}) {
      if (products_ != nullptr || IsOfCudnn(pass)) continue;
      PS_ASSIGN_OR_RETURN(products_, PlanConvolutionProducts(device_, g_));
    }
    return absl::OkStatus();
  }

  absl::Status PlanCudnn() {
    absl::StatusOr<std::shared_ptr<CudnnHandle>> cudnn = device_->Cudnn();
    if (!cudnn.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("convolutions need cuDNN: ", cudnn.status().message()));
    }
    auto planned = PlanCudnnConvolution(device_, *std::move(cudnn), g_);
    if (absl::IsUnimplemented(planned.status())) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(cudnn_, std::move(planned));
    return absl::OkStatus();
  }

  bool IsOfCudnn(ConvolutionPass pass) const {
    return cudnn_ != nullptr && cudnn_->Computes(pass);
  }
  ConvolutionPasses& Of(ConvolutionPass pass) const {
    return IsOfCudnn(pass) ? *cudnn_ : *products_;
  }

  absl::Status TakeInput(const float* x) {
    if (x_.reorders()) device_->CountReorder();
    holds_gradient_ = false;
    return x_.Take(device_, x);
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  std::unique_ptr<ConvolutionPasses> cudnn_;     // Null if it supports none.
  std::unique_ptr<ConvolutionPasses> products_;  // Null if not needed.
  ProductFactor weight_;
  ProductFactor x_;
  bool holds_gradient_ = false;  // In x_, instead of the latest x.
};

absl::StatusOr<ConvolutionGeometry> CheckedGeometry(
    const ConvolutionShape& shape, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("convolution of ", ShapeString(input.shape), " with ",
                   shape.out_channels, " kernels of ", shape.kernel_height,
                   " x ", shape.kernel_width, ", stride ", shape.stride,
                   ", padding ", shape.padding, ", groups ", shape.groups);
  PS_RETURN_IF_ERROR(CheckCudaImages(what, input).status());
  if (shape.out_channels < 1 || shape.kernel_height < 1 ||
      shape.kernel_width < 1 || shape.stride < 1 || shape.padding < 0 ||
      shape.groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs padding of at least 0, and everything else at least 1"));
  }
  if (input.shape[1] % shape.groups != 0 ||
      shape.out_channels % shape.groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": the groups must divide the channels of both sides"));
  }
  ConvolutionGeometry g;
  g.batch = input.shape[0];
  g.channels = input.shape[1];
  g.height = input.shape[2];
  g.width = input.shape[3];
  g.out_channels = shape.out_channels;
  g.kernel_height = shape.kernel_height;
  g.kernel_width = shape.kernel_width;
  g.stride = shape.stride;
  g.padding = shape.padding;
  g.groups = shape.groups;
  const int64_t room_height = g.height + 2 * g.padding - g.kernel_height;
  const int64_t room_width = g.width + 2 * g.padding - g.kernel_width;
  if (room_height < 0 || room_width < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the kernel is larger than the padded input"));
  }
  g.out_height = room_height / g.stride + 1;
  g.out_width = room_width / g.stride + 1;
  return g;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> CudaNnKernels::PlanConvolution(
    const ConvolutionShape& shape, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry,
                      CheckedGeometry(shape, input));
  const Shape output = {geometry.batch, geometry.out_channels,
                        geometry.out_height, geometry.out_width};
  auto op =
      std::make_unique<CudaConvolution>(device(), geometry, output, shape.bias);
  PS_RETURN_IF_ERROR(
      op->Plan(input.layout == nullptr ? Storage::kFloat : Storage::kBfloat16));
  return op;
}

}  // namespace ps
