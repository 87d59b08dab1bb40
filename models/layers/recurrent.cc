#include "models/layers/recurrent.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "models/layers/describe_initializer.h"
#include "models/layers/layer_times.h"

namespace ps {
namespace {

// The positions of the four parameters, relative to the layer's first one.
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
  // `kind` is "lstm" or "gru".
  PlannedRecurrent(std::unique_ptr<RecurrentOp> op, const Offsets& offsets,
                   absl::string_view kind, LayerTimes* times)
      : op_(std::move(op)),
        offsets_(offsets),
        kind_(kind),
        times_(times),
        product_times_(times->Kind(absl::StrCat(kind, " products"))),
        cell_times_(times->Kind(absl::StrCat(kind, " cells"))) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return Timed(LayerTimes::Direction::kForward,
                 [&] { return op_->Forward(a.x, WeightsAt(a.weights), a.y); });
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
    return Timed(LayerTimes::Direction::kBackward,
                 [&] { return op_->Backward(arguments); });
  }

  absl::Status ResetState() override {
    op_->ResetState();
    return absl::OkStatus();
  }

  absl::Status SaveState(std::string* bytes) const override {
    return op_->SaveState(bytes);
  }
  absl::Status LoadState(absl::string_view* bytes) override {
    return op_->LoadState(bytes);
  }

 private:
  // Runs one direction, and adds its time to the times of products and cells.
  template <typename Run>
  absl::Status Timed(LayerTimes::Direction direction, const Run& run) {
    const absl::Duration cells_before = op_->cell_time();
    const absl::Time start = SteadyClock()->Now();
    const absl::Status status = run();
    const absl::Time end = SteadyClock()->Now();
    const absl::Duration cells = op_->cell_time() - cells_before;
    const auto part = direction == LayerTimes::Direction::kForward
                          ? &LayerTimes::Entry::forward
                          : &LayerTimes::Entry::backward;
    times_->entry(cell_times_).*part += cells;
    times_->entry(product_times_).*part += end - start - cells;
    times_->Tell({kind_, direction, start, end});
    return status;
  }

  RecurrentOp::Weights WeightsAt(const float* weights) const {
    return {weights, weights + offsets_.recurrent,
            weights + offsets_.input_bias, weights + offsets_.recurrent_bias};
  }

  const std::unique_ptr<RecurrentOp> op_;
  const Offsets offsets_;
  const std::string kind_;
  LayerTimes* const times_;  // Not owned.
  const size_t product_times_;
  const size_t cell_times_;
};

class RecurrentLayer final : public Layer {
 public:
  explicit RecurrentLayer(const RecurrentOptions& options)
      : options_(options) {}

  // The layer's products and its cells have their own kinds.
  std::string kind() const override { return ""; }

  std::vector<LayerParameter> parameters() const override {
    const int64_t rows = options_.shape.num_gates() * options_.shape.hidden;
    const Initializer& initializer = options_.initializer;
    return {{Name("weight_ih"), {rows, options_.features}, initializer},
            {Name("weight_hh"), {rows, options_.shape.hidden}, initializer},
            {Name("bias_ih"), {rows}, initializer},
            {Name("bias_hh"), {rows}, initializer}};
  }

  // Layers of one stack are one layer of a config, with the dropout between
  // them.
  void Describe(LayerConfigs* layers) const override {
    if (options_.index > 0) {
      double dropout = 0;
      if (layers->rbegin()->has_dropout()) {
        dropout = layers->rbegin()->dropout();
        layers->RemoveLast();
      }
      RecurrentConfig& stack = *ConfigOf(&*layers->rbegin());
      stack.set_layers(static_cast<int32_t>(options_.index + 1));
      if (dropout > 0) stack.set_dropout(dropout);
      return;
    }
    LayerConfig& layer = *layers->Add();
    layer.set_name(options_.name);
    RecurrentConfig& config = *ConfigOf(&layer);
    config.set_hidden(static_cast<int32_t>(options_.shape.hidden));
    DescribeInitializer(
        options_.initializer, Initializer::FanInUniform(options_.shape.hidden),
        Fans(), [&] { return config.mutable_initial_weight(); });
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
    const bool is_lstm = options_.shape.cell == RecurrentShape::Cell::kLstm;
    return std::make_unique<PlannedRecurrent>(
        *std::move(op), Offsets(options_.shape, options_.features),
        is_lstm ? "lstm" : "gru", context.times);
  }

 private:
  RecurrentConfig* ConfigOf(LayerConfig* layer) const {
    return options_.shape.cell == RecurrentShape::Cell::kLstm
               ? layer->mutable_lstm()
               : layer->mutable_gru();
  }

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
