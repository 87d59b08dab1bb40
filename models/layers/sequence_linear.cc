#include "models/layers/sequence_linear.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/sequence_kernels.h"

namespace ps {
namespace {

class PlannedSequenceLinear final : public PlannedLayer {
 public:
  // bias_offset: distance of the bias from the weight, in elements.
  PlannedSequenceLinear(std::unique_ptr<AffineOp> op, int64_t bias_offset)
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

// Uses the weight at the beginning of the model's parameters.
class PlannedTiedOutput final : public PlannedLayer {
 public:
  explicit PlannedTiedOutput(std::unique_ptr<AffineOp> op)
      : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.model_weights, a.weights, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.model_weights, a.dy, a.dx, a.model_gradient,
                         a.gradient);
  }

 private:
  const std::unique_ptr<AffineOp> op_;
};

class SequenceLinearLayer final : public Layer {
 public:
  explicit SequenceLinearLayer(const SequenceLinearOptions& options)
      : options_(options) {}

  std::string kind() const override { return "linear"; }

  std::vector<LayerParameter> parameters() const override {
    std::vector<LayerParameter> parameters;
    if (!options_.tied) {
      parameters.push_back({absl::StrCat(options_.name, ".weight"),
                            {options_.out_features, options_.in_features},
                            options_.initializer});
    }
    parameters.push_back(
        {absl::StrCat(options_.name, ".bias"),
         {options_.out_features},
         options_.bias_initializer.value_or(options_.initializer)});
    return parameters;
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.size() != 3 || input.shape[2] != options_.in_features) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.name, " gets ", ShapeString(input.shape),
                       "; needs [steps, batch, ", options_.in_features, "]"));
    }
    auto op = context.backend->sequences().PlanSequenceLinear(
        options_.out_features, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), options_.name));
    if (options_.tied) {
      return std::make_unique<PlannedTiedOutput>(*std::move(op));
    }
    return std::make_unique<PlannedSequenceLinear>(
        *std::move(op), options_.out_features * options_.in_features);
  }

 private:
  const SequenceLinearOptions options_;
};

}  // namespace

std::unique_ptr<Layer> NewSequenceLinearLayer(
    const SequenceLinearOptions& options) {
  return std::make_unique<SequenceLinearLayer>(options);
}

}  // namespace ps
