#include "models/layers/affine_layers.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/describe_initializer.h"
#include "tensor/sequence_kernels.h"

namespace ps {
namespace {

class PlannedAffine final : public PlannedLayer {
 public:
  explicit PlannedAffine(AffinePlan plan) : plan_(std::move(plan)) {}

  const ActivationDesc& output() const override { return plan_.op->output(); }

  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return plan_.op->Forward(a.x, plan_.tied ? a.model_weights : a.weights,
                             Bias(a.weights), a.y);
  }

  bool TakeActivation(Activation function) override {
    return takes_activation_ = plan_.op->FuseActivation(function);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    if (takes_activation_) {
      PS_RETURN_IF_ERROR(
          plan_.op->BackwardActivation(a.y, a.dy, Bias(a.gradient)));
    }
    return plan_.op->Backward(
        a.x, plan_.tied ? a.model_weights : a.weights, a.dy, a.dx,
        plan_.tied ? a.model_gradient : a.gradient, Bias(a.gradient));
  }

 private:
  template <typename Float>
  Float* Bias(Float* parameters) const {
    return plan_.bias_offset.has_value() ? parameters + *plan_.bias_offset
                                         : nullptr;
  }

  const AffinePlan plan_;
  bool takes_activation_ = false;
};

class LinearLayer final : public Layer {
 public:
  explicit LinearLayer(const LinearOptions& options) : options_(options) {}

  std::string kind() const override { return "linear"; }

  std::vector<LayerParameter> parameters() const override {
    std::vector<LayerParameter> parameters;
    if (!options_.tied) {
      parameters.push_back({absl::StrCat(options_.name, ".weight"),
                            {options_.out_features, options_.in_features},
                            options_.initializers.weight});
    }
    parameters.push_back({absl::StrCat(options_.name, ".bias"),
                          {options_.out_features},
                          options_.initializers.bias});
    return parameters;
  }

  void Describe(LayerConfigs* layers) const override {
    LayerConfig& layer = *layers->Add();
    layer.set_name(options_.name);
    LinearConfig& config = *layer.mutable_linear();
    config.set_out_features(static_cast<int32_t>(options_.out_features));
    const Fans fans = {options_.in_features, options_.out_features};
    const Initializer usual = Initializer::FanInUniform(fans.in);
    if (options_.tied) {
      config.set_tied_to_embedding(true);
    } else {
      DescribeInitializer(options_.initializers.weight, usual, fans,
                          [&] { return config.mutable_initial_weight(); });
    }
    DescribeInitializer(options_.initializers.bias, usual, Fans(),
                        [&] { return config.mutable_initial_bias(); });
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    const int64_t in = options_.in_features;
    const Shape& shape = input.shape;
    const bool fits =
        options_.each_step
            ? shape.size() == 3 && shape[2] == in
            : !shape.empty() && NumElements(shape) == shape[0] * in;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          options_.name, " gets ", ShapeString(shape), "; needs ",
          options_.each_step ? absl::StrCat("[steps, batch, ", in, "]")
                             : absl::StrCat(in, " features for each example")));
    }
    auto op =
        options_.each_step
            ? context.backend->sequences().PlanSequenceLinear(
                  options_.out_features, input)
            : context.backend->nn().PlanLinear(options_.out_features, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), options_.name));
    AffinePlan plan;
    plan.op = *std::move(op);
    plan.bias_offset = options_.tied ? 0 : options_.out_features * in;
    plan.tied = options_.tied;
    return NewPlannedAffine(std::move(plan));
  }

 private:
  const LinearOptions options_;
};

}  // namespace

AffineInitializers AffineInitializers::FanInUniform(int64_t fan_in) {
  const Initializer initializer = Initializer::FanInUniform(fan_in);
  return {initializer, initializer};
}

std::unique_ptr<PlannedLayer> NewPlannedAffine(AffinePlan plan) {
  return std::make_unique<PlannedAffine>(std::move(plan));
}

std::unique_ptr<Layer> NewLinearLayer(const LinearOptions& options) {
  return std::make_unique<LinearLayer>(options);
}

std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features) {
  return NewLinearLayer(std::move(name), in_features, out_features,
                        AffineInitializers::FanInUniform(in_features));
}

std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features,
                                      const AffineInitializers& initializers) {
  LinearOptions options;
  options.name = std::move(name);
  options.in_features = in_features;
  options.out_features = out_features;
  options.initializers = initializers;
  return NewLinearLayer(options);
}

}  // namespace ps
