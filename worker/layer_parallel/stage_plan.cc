#include "worker/layer_parallel/stage_plan.h"

#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<StagePlan>> StagePlan::Create(
    const StagePlanOptions& options) {
  std::unique_ptr<StagePlan> plan(new StagePlan(options));
  PlanContext context;
  context.backend = options.backend;
  context.scratch = &plan->scratch_;
  context.training = true;
  context.activation_bytes = &plan->activation_bytes_;
  context.times = options.times;
  NnKernels& nn = options.backend->nn();
  PS_ASSIGN_OR_RETURN(plan->start_order_, nn.PlanReorder(options.start));
  PS_ASSIGN_OR_RETURN(
      plan->chain_,
      PlannedChain::Create(*options.layers, context, options.start));
  const ActivationDesc& end = plan->chain_->output();
  PS_ASSIGN_OR_RETURN(plan->end_order_, nn.PlanReorder(end));
  PS_ASSIGN_OR_RETURN(plan->start_in_layout_,
                      context.Allocate({options.start.num_floats}));
  PS_ASSIGN_OR_RETURN(plan->end_in_layout_, context.Allocate({end.num_floats}));
  PS_ASSIGN_OR_RETURN(plan->end_gradient_in_layout_,
                      context.Allocate({end.num_floats}));
  PS_ASSIGN_OR_RETURN(plan->end_, context.Allocate(end.shape));
  if (options.start_gradient) {
    PS_ASSIGN_OR_RETURN(plan->start_gradient_in_layout_,
                        context.Allocate({options.start.num_floats}));
    PS_ASSIGN_OR_RETURN(plan->start_gradient_,
                        context.Allocate(options.start.shape));
  }
  PS_RETURN_IF_ERROR(plan->scratch_.Allocate(options.backend));
  return plan;
}

absl::Status StagePlan::Forward(const float* start, const Values& values) {
  PS_RETURN_IF_ERROR(
      start_order_->Backward(nullptr, nullptr, start, start_in_layout_.data()));
  PlannedLayer::ForwardArguments arguments;
  arguments.x = start_in_layout_.data();
  arguments.weights = values.weights;
  arguments.statistics = values.statistics;
  arguments.y = end_in_layout_.data();
  arguments.random_key = values.random_key;
  arguments.model_weights = values.weights;
  PS_RETURN_IF_ERROR(chain_->Forward(arguments, nullptr));
  return end_order_->Forward(end_in_layout_.data(), end_.data());
}

absl::Status StagePlan::Backward(const float* end_gradient,
                                 const Values& values, float* gradient) {
  PS_RETURN_IF_ERROR(end_order_->Backward(nullptr, nullptr, end_gradient,
                                          end_gradient_in_layout_.data()));
  PlannedLayer::BackwardArguments arguments;
  arguments.x = start_in_layout_.data();
  arguments.y = end_in_layout_.data();
  arguments.dy = end_gradient_in_layout_.data();
  arguments.weights = values.weights;
  arguments.gradient = gradient;
  arguments.model_weights = values.weights;
  arguments.model_gradient = gradient;
  if (options_.start_gradient) {
    arguments.dx = start_gradient_in_layout_.data();
  }
  PS_RETURN_IF_ERROR(chain_->Backward(arguments, nullptr, {}));
  if (!options_.start_gradient) return absl::OkStatus();
  return start_order_->Forward(start_gradient_in_layout_.data(),
                               start_gradient_.data());
}

int64_t StagePlan::activation_bytes() const {
  return activation_bytes_ +
         scratch_.num_floats() * static_cast<int64_t>(sizeof(float));
}

}  // namespace ps
