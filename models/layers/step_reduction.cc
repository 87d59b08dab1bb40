#include "models/layers/step_reduction.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "tensor/sequence_kernels.h"

namespace ps {
namespace {

class PlannedReduction final : public PlannedLayer {
 public:
  explicit PlannedReduction(std::unique_ptr<UnaryOp> op) : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool backward_reads_output() const override { return false; }
  bool backward_reads_input() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.y, a.dy, a.dx);
  }

 private:
  const std::unique_ptr<UnaryOp> op_;
};

class ReductionLayer final : public Layer {
 public:
  ReductionLayer(StepReduction reduction, LayerConfig config)
      : reduction_(reduction), config_(std::move(config)) {}

  std::string kind() const override { return "pooling"; }

  void Describe(LayerConfigs* layers) const override {
    *layers->Add() = config_;
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    PS_ASSIGN_OR_RETURN(
        std::unique_ptr<UnaryOp> op,
        context.backend->sequences().PlanStepReduction(reduction_, input));
    return std::make_unique<PlannedReduction>(std::move(op));
  }

 private:
  const StepReduction reduction_;
  const LayerConfig config_;
};

}  // namespace

std::unique_ptr<Layer> NewMeanOfStepsLayer() {
  LayerConfig config;
  config.mutable_global_pooling();
  return std::make_unique<ReductionLayer>(StepReduction::kMean, config);
}

std::unique_ptr<Layer> NewLastStepLayer() {
  LayerConfig config;
  config.mutable_last_step();
  return std::make_unique<ReductionLayer>(StepReduction::kLast, config);
}

}  // namespace ps
