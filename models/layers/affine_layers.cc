#include "models/layers/affine_layers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedAffine final : public PlannedLayer {
 public:
  // bias_offset: distance of the bias from the weight, in elements.
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

class LinearLayer final : public Layer {
 public:
  LinearLayer(std::string name, int64_t in_features, int64_t out_features,
              const AffineInitializers& initializers)
      : name_(std::move(name)),
        weight_({out_features, in_features}),
        initializers_(initializers) {}

  std::string kind() const override { return "linear"; }

  std::vector<LayerParameter> parameters() const override {
    return {{absl::StrCat(name_, ".weight"), weight_, initializers_.weight},
            {absl::StrCat(name_, ".bias"), {weight_[0]}, initializers_.bias}};
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
  const AffineInitializers initializers_;
};

}  // namespace

AffineInitializers AffineInitializers::FanInUniform(int64_t fan_in) {
  const Initializer initializer = Initializer::FanInUniform(fan_in);
  return {initializer, initializer};
}

std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features) {
  return NewLinearLayer(std::move(name), in_features, out_features,
                        AffineInitializers::FanInUniform(in_features));
}

std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features,
                                      const AffineInitializers& initializers) {
  return std::make_unique<LinearLayer>(std::move(name), in_features,
                                       out_features, initializers);
}

}  // namespace ps
