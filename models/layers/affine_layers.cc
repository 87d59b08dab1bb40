#include "models/layers/affine_layers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedAffine final : public PlannedLayer {
 public:
  // bias_offset: of the bias from the weight, in elements.
  PlannedAffine(std::unique_ptr<AffineOp> op, int64_t bias_offset)
      : op_(std::move(op)), bias_offset_(bias_offset) {}

  const ActivationDesc& output() const override { return op_->output(); }

  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.weights, a.weights + bias_offset_, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.weights, a.dy, a.dx, a.gradient,
                         a.gradient + bias_offset_);
  }

 private:
  const std::unique_ptr<AffineOp> op_;
  const int64_t bias_offset_;
};

std::vector<LayerParameter> WeightAndBias(const std::string& name,
                                          const Shape& weight) {
  const Initializer initializer =
      Initializer::FanInUniform(NumElements(weight) / weight[0]);
  return {{absl::StrCat(name, ".weight"), weight, initializer},
          {absl::StrCat(name, ".bias"), {weight[0]}, initializer}};
}

class ConvolutionLayer final : public Layer {
 public:
  ConvolutionLayer(std::string name, int64_t in_channels,
                   const ConvolutionShape& shape)
      : name_(std::move(name)),
        weight_({shape.out_channels, in_channels, shape.kernel_height,
                 shape.kernel_width}),
        shape_(shape) {}

  std::string kind() const override { return "convolution"; }

  std::vector<LayerParameter> parameters() const override {
    return WeightAndBias(name_, weight_);
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.size() != 4 || input.shape[1] != weight_[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, " gets ", ShapeString(input.shape),
                       "; needs [batch, ", weight_[1], ", height, width]"));
    }
    auto op = context.backend->nn().PlanConvolution(shape_, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), name_));
    return std::make_unique<PlannedAffine>(*std::move(op),
                                           NumElements(weight_));
  }

 private:
  const std::string name_;
  const Shape weight_;  // [out, in, height, width]
  const ConvolutionShape shape_;
};

class LinearLayer final : public Layer {
 public:
  LinearLayer(std::string name, int64_t in_features, int64_t out_features)
      : name_(std::move(name)), weight_({out_features, in_features}) {}

  std::string kind() const override { return "linear"; }

  std::vector<LayerParameter> parameters() const override {
    return WeightAndBias(name_, weight_);
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.empty() ||
        NumElements(input.shape) != input.shape[0] * weight_[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, " gets ", ShapeString(input.shape), "; needs ",
                       weight_[1], " features for each example"));
    }
    auto op = context.backend->nn().PlanLinear(weight_[0], input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), name_));
    return std::make_unique<PlannedAffine>(*std::move(op),
                                           NumElements(weight_));
  }

 private:
  const std::string name_;
  const Shape weight_;  // [out, in]
};

}  // namespace

std::unique_ptr<Layer> NewConvolutionLayer(std::string name,
                                           int64_t in_channels,
                                           const ConvolutionShape& shape) {
  return std::make_unique<ConvolutionLayer>(std::move(name), in_channels,
                                            shape);
}

std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features) {
  return std::make_unique<LinearLayer>(std::move(name), in_features,
                                       out_features);
}

}  // namespace ps
