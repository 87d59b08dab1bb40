#include "tensor/cuda/nn/cuda_convolution.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/channel_sum_cores.h"
#include "tensor/cuda/nn/column_convolution.h"
#include "tensor/cuda/nn/convolution_cores.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Adds the bias to what somebody else convolves.
class CudaConvolution final : public AffineOp {
 public:
  CudaConvolution(LayerDevice* device, const ConvolutionGeometry& g,
                  bool has_bias,
                  std::unique_ptr<LibraryConvolution> convolution)
      : device_(device),
        has_bias_(has_bias),
        output_(ActivationDesc::Plain(
            {g.batch, g.out_channels, g.out_height, g.out_width})),
        outputs_(g.batch, g.out_channels, g.out_pixels()),
        convolution_(std::move(convolution)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status ReserveScratch() {
    if (!has_bias_) return absl::OkStatus();
    return device_->ReserveScratch(2 * outputs_.num_partial() *
                                   static_cast<int64_t>(sizeof(double)));
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_RETURN_IF_ERROR(convolution_->Forward(x, weight, y));
    if (!has_bias_) return absl::OkStatus();
    AddToChannelsCore core;
    core.channels = outputs_.channels;
    core.pixels = outputs_.pixels;
    core.bias = bias;
    core.y = y;
    return device_->Run(core, outputs_.size());
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    PS_RETURN_IF_ERROR(convolution_->BackwardWeights(x, dy, dweight));
    if (has_bias_) PS_RETURN_IF_ERROR(SumBias(dy, dbias));
    if (dx == nullptr) return absl::OkStatus();
    return convolution_->BackwardData(weight, dy, dx);
  }

 private:
  absl::Status SumBias(const float* dy, float* dbias) {
    ChannelSumsCore<BiasTerms> sums;
    sums.geometry = outputs_;
    sums.terms.dy = dy;
    sums.first = static_cast<double*>(device_->scratch());
    sums.second = sums.first + outputs_.num_partial();
    PS_RETURN_IF_ERROR(device_->Run(sums, outputs_.num_partial()));
    FinishBiasCore finish;
    finish.geometry = outputs_;
    finish.partial = sums.first;
    finish.dbias = dbias;
    return device_->Run(finish, outputs_.channels.value());
  }

  LayerDevice* const device_;  // Not owned.
  const bool has_bias_;
  const ActivationDesc output_;
  const ChannelGeometry outputs_;
  const std::unique_ptr<LibraryConvolution> convolution_;
};

absl::StatusOr<ConvolutionGeometry> CheckedGeometry(
    const ConvolutionShape& shape, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("convolution of ", ShapeString(input.shape), " with ",
                   shape.out_channels, " kernels of ", shape.kernel_height,
                   " x ", shape.kernel_width, ", stride ", shape.stride,
                   ", padding ", shape.padding, ", groups ", shape.groups);
  PS_RETURN_IF_ERROR(CheckPlainImages(what, input));
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
  PS_ASSIGN_OR_RETURN(auto convolution, device->PlanConvolution(geometry));
  if (convolution == nullptr) {
    PS_ASSIGN_OR_RETURN(
        convolution, PlanColumnConvolution(device, geometry, max_column_bytes));
  }
  auto op = std::make_unique<CudaConvolution>(device, geometry, shape.bias,
                                              std::move(convolution));
  PS_RETURN_IF_ERROR(op->ReserveScratch());
  return op;
}

}  // namespace ps
