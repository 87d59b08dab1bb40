#include "tensor/cuda/nn/cuda_convolution.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/channel_sums.h"
#include "tensor/cuda/nn/column_convolution.h"
#include "tensor/cuda/nn/cuda_activation.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/last_channel_convolution.h"
#include "tensor/cuda/nn/product_factor.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The classes that compute the passes of a convolution.
class ConvolutionPasses {
 public:
  // The passes that `library` does not compute are products of matrices. It may
  // be null.
  static absl::StatusOr<ConvolutionPasses> Plan(
      LayerDevice* device, const ConvolutionGeometry& geometry,
      int64_t max_column_bytes) {
    ConvolutionPasses passes;
    PS_ASSIGN_OR_RETURN(passes.library_, device->PlanConvolution(geometry));
    for (const ConvolutionPass pass :
         {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
          ConvolutionPass::kBackwardWeights}) {
      if (passes.products_ != nullptr || passes.IsOfLibrary(pass)) continue;
      PS_ASSIGN_OR_RETURN(
          passes.products_,
          device->storage() == Storage::kBfloat16
              ? PlanLastChannelConvolution(device, geometry, max_column_bytes)
              : PlanColumnConvolution(device, geometry, max_column_bytes));
    }
    return passes;
  }

  LibraryConvolution* Of(ConvolutionPass pass) const {
    return IsOfLibrary(pass) ? library_.get() : products_.get();
  }

 private:
  bool IsOfLibrary(ConvolutionPass pass) const {
    return library_ != nullptr && library_->Computes(pass);
  }

  std::unique_ptr<LibraryConvolution> library_;   // Null if there is none.
  std::unique_ptr<LibraryConvolution> products_;  // Null if not needed.
};

// Adds the bias to a convolution computed by another class, and converts
// weights and plain images to the form that this class needs.
class CudaConvolution final : public AffineOp {
 public:
  CudaConvolution(LayerDevice* device, const ConvolutionGeometry& g,
                  bool has_bias, ConvolutionPasses passes)
      : device_(device),
        g_(g),
        has_bias_(has_bias),
        output_(CudaActivation(device->storage(), {g.batch, g.out_channels,
                                                   g.out_height, g.out_width})),
        outputs_(ChannelGeometryOf(device->storage(), output_.shape)),
        passes_(std::move(passes)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate(Storage input) {
    PS_ASSIGN_OR_RETURN(
        weight_, ProductFactor::Weights(device_, g_.num_weights(),
                                        g_.channels / g_.groups,
                                        g_.kernel_height * g_.kernel_width));
    if (input != device_->storage()) {
      PS_ASSIGN_OR_RETURN(x_, ProductFactor::Copied(
                                  device_, g_.batch * g_.channels * g_.pixels(),
                                  g_.channels, g_.pixels()));
    }
    if (!has_bias_) return absl::OkStatus();
    return device_->ReserveScratch(ChannelSumsScratchBytes(outputs_));
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_RETURN_IF_ERROR(weight_.Take(device_, weight));
    PS_RETURN_IF_ERROR(TakeInput(x));
    PS_RETURN_IF_ERROR(passes_.Of(ConvolutionPass::kForward)
                           ->Forward(x_.of(x), weight_.of(weight), y));
    if (!has_bias_) return absl::OkStatus();
    return AddBias(device_, device_->storage(), outputs_, function_, bias, y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    if (holds_gradient_) PS_RETURN_IF_ERROR(TakeInput(x));
    PS_RETURN_IF_ERROR(passes_.Of(ConvolutionPass::kBackwardWeights)
                           ->BackwardWeights(x_.of(x), dy, dweight));
    if (has_bias_ && function_ == ActivationKind::kNone) {
      PS_RETURN_IF_ERROR(
          SumBias(device_, device_->storage(), outputs_, dy, dbias));
    }
    if (dx == nullptr) return absl::OkStatus();
    LibraryConvolution* const data = passes_.Of(ConvolutionPass::kBackwardData);
    if (!x_.is_copy()) {
      return data->BackwardData(weight_.of(weight), dy, dx);
    }
    // Overwrites the copy of x; a second Backward, which is not expected, would
    // copy again.
    holds_gradient_ = true;
    PS_RETURN_IF_ERROR(data->BackwardData(weight_.of(weight), dy, x_.data()));
    if (x_.reorders()) device_->CountReorder();
    return x_.ToPlain(device_, dx);
  }

  // Without a bias, it would be a pass of its own.
  bool FuseActivation(Activation function) override {
    if (has_bias_) function_ = KindOf(function);
    return has_bias_;
  }

  absl::Status BackwardActivation(const float* y, float* dy,
                                  float* dbias) override {
    if (function_ == ActivationKind::kNone) {
      return AffineOp::BackwardActivation(y, dy, dbias);
    }
    return SumActivatedBias(device_, device_->storage(), outputs_, function_, y,
                            dy, dbias);
  }

 private:
  absl::Status TakeInput(const float* x) {
    if (x_.reorders()) device_->CountReorder();
    holds_gradient_ = false;
    return x_.Take(device_, x);
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  const bool has_bias_;
  const ActivationDesc output_;
  const ChannelGeometry outputs_;
  const ConvolutionPasses passes_;
  ActivationKind function_ = ActivationKind::kNone;
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

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaConvolution(
    LayerDevice* device, const ConvolutionShape& shape,
    const ActivationDesc& input, int64_t max_column_bytes) {
  PS_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry,
                      CheckedGeometry(shape, input));
  PS_ASSIGN_OR_RETURN(
      ConvolutionPasses passes,
      ConvolutionPasses::Plan(device, geometry, max_column_bytes));
  auto op = std::make_unique<CudaConvolution>(device, geometry, shape.bias,
                                              std::move(passes));
  PS_RETURN_IF_ERROR(op->Allocate(
      input.layout == nullptr ? Storage::kFloat : Storage::kBfloat16));
  return op;
}

}  // namespace ps
