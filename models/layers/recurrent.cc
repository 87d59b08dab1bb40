#include "models/layers/recurrent.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Where the four parameters lie, from the layer's first one on.
struct Offsets {
  Offsets(const RecurrentShape& shape, int64_t features) {
    const int64_t rows = shape.num_gates() * shape.hidden;
    recurrent = rows * features;
    input_bias = recurrent + rows * shape.hidden;
    recurrent_bias = input_bias + rows;
  }

  int64_t recurrent = 0;
  int64_t input_bias = 0;
  int64_t recurrent_bias = 0;
};

class PlannedRecurrent final : public PlannedLayer {
 public:
  PlannedRecurrent(std::unique_ptr<RecurrentOp> op, const Offsets& offsets)
      : op_(std::move(op)), offsets_(offsets) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, WeightsAt(a.weights), a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    RecurrentOp::BackwardArguments arguments;
    arguments.x = a.x;
    arguments.dy = a.dy;
    arguments.weights = WeightsAt(a.weights);
    arguments.dx = a.dx;
    arguments.gradients = {a.gradient, a.gradient + offsets_.recurrent,
                           a.gradient + offsets_.input_bias,
                           a.gradient + offsets_.recurrent_bias};
    return op_->Backward(arguments);
  }

  absl::Status ResetState() override {
    op_->ResetState();
    return absl::OkStatus();
  }

 private:
  RecurrentOp::Weights WeightsAt(const float* weights) const {
    return {weights, weights + offsets_.recurrent,
            weights + offsets_.input_bias, weights + offsets_.recurrent_bias};
  }

  const std::unique_ptr<RecurrentOp> op_;
  const Offsets offsets_;
};

class RecurrentLayer final : public Layer {
 public:
  explicit RecurrentLayer(const RecurrentOptions& options)
      : options_(options) {}

  std::string kind() const override {
    return options_.shape.cell == RecurrentShape::Cell::kLstm ? "lstm" : "gru";
  }

  std::vector<LayerParameter> parameters() const override {
    const int64_t rows = options_.shape.num_gates() * options_.shape.hidden;
    const Initializer& initializer = options_.initializer;
    return {{Name("weight_ih"), {rows, options_.features}, initializer},
            {Name("weight_hh"), {rows, options_.shape.hidden}, initializer},
            {Name("bias_ih"), {rows}, initializer},
            {Name("bias_hh"), {rows}, initializer}};
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.size() != 3 || input.shape[2] != options_.features) {
      return absl::InvalidArgumentError(
          absl::StrCat(Name("layer"), " gets ", ShapeString(input.shape),
                       "; needs [steps, batch, ", options_.features, "]"));
    }
    auto op = context.backend->sequences().PlanRecurrent(options_.shape, input);
    PS_RETURN_IF_ERROR(Annotate(op.status(), Name("layer")));
    *context.activation_bytes +=
        (*op)->num_floats() * static_cast<int64_t>(sizeof(float));
    return std::make_unique<PlannedRecurrent>(
        *std::move(op), Offsets(options_.shape, options_.features));
  }

 private:
  std::string Name(absl::string_view parameter) const {
    return absl::StrCat(options_.name, ".", parameter, "_l", options_.index);
  }

  const RecurrentOptions options_;
};

}  // namespace

std::unique_ptr<Layer> NewRecurrentLayer(const RecurrentOptions& options) {
  return std::make_unique<RecurrentLayer>(options);
}

}  // namespace ps
