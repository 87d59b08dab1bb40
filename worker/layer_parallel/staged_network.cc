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
    start = planned->end_desc();
    network->plans_.push_back(std::move(planned));
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

Shape StagedNetwork::start_shape(int k) const {
  const Shape& shape = plans_[k]->start_shape();
  return Shape(shape.begin() + 1, shape.end());
}

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
  const float* start = batch.inputs.data();
  for (int k = 0; k < num_stages(); ++k) {
    PS_RETURN_IF_ERROR(
        plans_[k]->Forward(start, StageValues(k, batch, vectors)));
    start = plans_[k]->end();
  }
  PS_ASSIGN_OR_RETURN(const BatchResult result, RunLoss(batch));
  const float* gradient = logits_gradient();
  for (int k = num_stages(); k-- > 0;) {
    PS_RETURN_IF_ERROR(plans_[k]->Backward(
        gradient, StageValues(k, batch, vectors), StageGradient(k, vectors)));
    gradient = plans_[k]->start_gradient();
  }
  return result;
}

int64_t StagedNetwork::activation_bytes() const {
  int64_t bytes =
      loss_bytes_ + scratch_.num_floats() * static_cast<int64_t>(sizeof(float));
  for (const auto& plan : plans_) bytes += plan->activation_bytes();
  return bytes;
}

}  // namespace ps
