#include "worker/layer_parallel/staged_network.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<StagedNetwork>> StagedNetwork::Create(
    const Options& options) {
  std::unique_ptr<StagedNetwork> network(new StagedNetwork(options));
  const ExampleShape& example = options.example;
  ActivationDesc start = ActivationDesc::Plain(
      {options.batch_size, example.channels, example.height, example.width});
  for (const Stage& stage : *options.stages) {
    StagePlanOptions plan;
    plan.layers = &stage.layers;
    plan.start = start;
    plan.start_gradient = !network->plans_.empty();
    plan.backend = options.backend;
    plan.times = options.times;
    PS_ASSIGN_OR_RETURN(std::unique_ptr<StagePlan> planned,
                        StagePlan::Create(plan));
    network->start_shapes_.push_back(
        Shape(start.shape.begin() + 1, start.shape.end()));
    start = planned->end_desc();
    network->plans_.push_back(std::move(planned));
  }
  network->starts_.resize(network->plans_.size());
  // The layout at a stage's start is that of the stage before, so all stages
  // had to be planned.
  for (int k = 0; k < network->num_stages(); ++k) {
    if (k < network->first() || k > network->last()) {
      network->plans_[k] = nullptr;
    }
  }
  PlanContext context;
  context.backend = options.backend;
  context.scratch = &network->scratch_;
  context.training = true;
  context.activation_bytes = &network->loss_bytes_;
  context.times = options.times;
  network->loss_ = NewSoftmaxCrossEntropy();
  PS_ASSIGN_OR_RETURN(
      network->planned_loss_,
      network->loss_->Plan(context, ActivationDesc::Plain(start.shape)));
  PS_ASSIGN_OR_RETURN(network->logits_gradient_, context.Allocate(start.shape));
  PS_RETURN_IF_ERROR(network->scratch_.Allocate(options.backend));
  return network;
}

Shape StagedNetwork::start_shape(int k) const { return start_shapes_[k]; }

StagePlan::Values StagedNetwork::StageValues(int k, const Batch& batch,
                                             const StepVectors& vectors) const {
  const Stage& stage = (*options_.stages)[k];
  StagePlan::Values values;
  values.weights = vectors.weights + stage.begin;
  values.statistics = vectors.statistics + stage.statistics_begin;
  values.random_key = RandomKey(batch.random_key, static_cast<uint64_t>(k));
  return values;
}

absl::StatusOr<BatchResult> StagedNetwork::RunLoss(const Batch& batch) {
  return planned_loss_->Run(batch, plans_.back()->end(),
                            logits_gradient_.data());
}

absl::StatusOr<BatchResult> StagedNetwork::SerialStep(
    const Batch& batch, const StepVectors& vectors) {
  // The values are exact, those of an undivided network.
  constexpr auto kWire = LayerParallelConfig::FP32;
  const float* start = batch.inputs.data();
  if (first() > 0) {
    PS_RETURN_IF_ERROR(links()->ReceiveForward(
        NumElements(stage(first()).start_shape()), kWire, &received_start_));
    start = received_start_.data();
  }
  for (int k = first(); k <= last(); ++k) {
    starts_[k] = start;
    PS_RETURN_IF_ERROR(
        plans_[k]->Forward(start, StageValues(k, batch, vectors)));
    start = plans_[k]->end();
  }
  BatchResult result;
  const float* gradient = nullptr;
  if (has_loss()) {
    PS_ASSIGN_OR_RETURN(result, RunLoss(batch));
    gradient = logits_gradient();
  } else {
    result.examples = batch.size();
    const int64_t size = NumElements(stage(last()).end_shape());
    PS_RETURN_IF_ERROR(links()->SendForward(start, size, kWire));
    PS_RETURN_IF_ERROR(
        links()->ReceiveBackward(size, kWire, &received_gradient_));
    gradient = received_gradient_.data();
  }
  for (int k = last(); k >= first(); --k) {
    PS_RETURN_IF_ERROR(plans_[k]->Backward(
        gradient, StageValues(k, batch, vectors), StageGradient(k, vectors)));
    gradient = plans_[k]->start_gradient();
  }
  if (first() > 0) {
    PS_RETURN_IF_ERROR(links()->SendBackward(
        gradient, NumElements(stage(first()).start_shape()), kWire));
  }
  return result;
}

int64_t StagedNetwork::activation_bytes() const {
  int64_t bytes =
      loss_bytes_ + scratch_.num_floats() * static_cast<int64_t>(sizeof(float));
  for (const auto& plan : plans_) {
    if (plan != nullptr) bytes += plan->activation_bytes();
  }
  return bytes;
}

}  // namespace ps
