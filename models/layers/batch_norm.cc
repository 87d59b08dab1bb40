#include "models/layers/batch_norm.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedBatchNorm final : public PlannedLayer {
 public:
  PlannedBatchNorm(std::unique_ptr<BatchNormOp> op, int64_t channels,
                   bool training)
      : op_(std::move(op)), channels_(channels), training_(training) {}

  const ActivationDesc& output() const override { return op_->output(); }

  // Backward needs x; in inference, nothing does.
  bool in_place() const override { return !training_; }
  bool backward_reads_output() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    BatchNormOp::ForwardArguments arguments;
    arguments.x = a.x;
    arguments.weight = a.weights;
    arguments.bias = a.weights + channels_;
    arguments.running_mean = a.statistics;
    arguments.running_variance = a.statistics + channels_;
    arguments.y = a.y;
    return op_->Forward(arguments);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    BatchNormOp::BackwardArguments arguments;
    arguments.x = a.x;
    arguments.y = a.y;
    arguments.dy = a.dy;
    arguments.dx = a.dx;
    arguments.dweight = a.gradient;
    arguments.dbias = a.gradient + channels_;
    return op_->Backward(arguments);
  }

 private:
  const std::unique_ptr<BatchNormOp> op_;
  const int64_t channels_;
  const bool training_;
};

class BatchNormLayer final : public Layer {
 public:
  explicit BatchNormLayer(const BatchNormOptions& options)
      : options_(options) {}

  std::string kind() const override { return kBatchNormKind; }

  std::vector<LayerParameter> parameters() const override {
    return BatchNormParameters(options_.name, options_.channels);
  }

  std::vector<LayerStatistic> statistics() const override {
    return BatchNormStatistics(options_.name, options_.channels);
  }

  void Describe(LayerConfigs* layers) const override {
    DescribeBatchNorm(options_, layers);
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (input.shape.size() < 2 || input.shape[1] != options_.channels) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.name, " gets ", ShapeString(input.shape),
                       "; needs ", options_.channels, " channels"));
    }
    auto op = context.backend->nn().PlanBatchNorm(
        BatchNormShapeOf(options_, context.training), input, nullptr);
    PS_RETURN_IF_ERROR(Annotate(op.status(), options_.name));
    return std::make_unique<PlannedBatchNorm>(*std::move(op), options_.channels,
                                              context.training);
  }

 private:
  const BatchNormOptions options_;
};

}  // namespace

std::unique_ptr<Layer> NewBatchNormLayer(const BatchNormOptions& options) {
  return std::make_unique<BatchNormLayer>(options);
}

std::unique_ptr<Layer> NewBatchNormLayer(std::string name, int64_t channels,
                                         AfterNorm after) {
  BatchNormOptions options;
  options.name = std::move(name);
  options.channels = channels;
  options.after = after;
  return NewBatchNormLayer(options);
}

BatchNormShape BatchNormShapeOf(const BatchNormOptions& options,
                                bool training) {
  BatchNormShape shape;
  shape.training = training;
  shape.fixed_statistics = options.fixed_statistics;
  shape.relu = options.after == AfterNorm::kRelu;
  shape.epsilon = options.epsilon;
  shape.momentum = options.momentum;
  return shape;
}

void DescribeBatchNorm(const BatchNormOptions& options, LayerConfigs* layers) {
  LayerConfig& layer = *layers->Add();
  layer.set_name(options.name);
  BatchNormConfig& config = *layer.mutable_batch_norm();
  if (options.epsilon != BatchNormOptions().epsilon) {
    config.set_epsilon(options.epsilon);
  }
  if (options.momentum != BatchNormOptions().momentum) {
    config.set_momentum(options.momentum);
  }
  if (options.fixed_statistics) config.set_fixed_statistics(true);
  if (options.after == AfterNorm::kRelu) {
    layers->Add()->set_activation("relu");
  }
}

std::vector<LayerParameter> BatchNormParameters(const std::string& name,
                                                int64_t channels) {
  return {{absl::StrCat(name, ".weight"), {channels}, Initializer::Constant(1)},
          {absl::StrCat(name, ".bias"), {channels}, Initializer::Constant(0)}};
}

std::vector<LayerStatistic> BatchNormStatistics(const std::string& name,
                                                int64_t channels) {
  return {{absl::StrCat(name, ".running_mean"), {channels}, 0},
          {absl::StrCat(name, ".running_var"), {channels}, 1}};
}

}  // namespace ps
