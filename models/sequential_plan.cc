#include "models/sequential_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<SequentialPlan>> SequentialPlan::Create(
    const std::vector<PlacedLayer>& layers, const ExampleShape& example,
    int64_t batch_size, Backend* backend) {
  std::unique_ptr<SequentialPlan> plan(new SequentialPlan(backend));
  ActivationDesc activation = ActivationDesc::Plain(
      {batch_size, example.channels, example.height, example.width});
  PS_ASSIGN_OR_RETURN(plan->input_, backend->Allocate(activation.shape));
  int64_t largest = 0;
  for (const PlacedLayer& placed : layers) {
    Step step;
    step.begin = placed.begin;
    step.end = placed.end;
    PS_ASSIGN_OR_RETURN(step.layer,
                        placed.layer->Plan(backend->nn(), activation));
    activation = step.layer->output();
    PS_ASSIGN_OR_RETURN(step.output,
                        backend->Allocate({activation.num_floats}));
    largest = std::max(largest, activation.num_floats);
    plan->steps_.push_back(std::move(step));
  }
  if (activation.shape != Shape{batch_size, example.num_classes}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the last layer gives ", ShapeString(activation.shape),
        "; the loss needs [", batch_size, ", ", example.num_classes, "]"));
  }
  PS_ASSIGN_OR_RETURN(plan->loss_,
                      backend->nn().PlanSoftmaxCrossEntropy(activation));
  while (plan->lowest_ < layers.size() &&
         !layers[plan->lowest_].has_parameters()) {
    ++plan->lowest_;
  }
  for (Tensor& gradient : plan->gradients_) {
    PS_ASSIGN_OR_RETURN(gradient, backend->Allocate({largest}));
  }
  return plan;
}

absl::StatusOr<BatchResult> SequentialPlan::Forward(const Batch& batch,
                                                    const float* weights,
                                                    bool want_gradient) {
  PS_RETURN_IF_ERROR(backend_->CopyFromHost(batch.inputs.data(), &input_));
  const float* x = input_.data();
  for (Step& step : steps_) {
    PS_RETURN_IF_ERROR(
        step.layer->Forward(x, weights + step.begin, step.output.data()));
    x = step.output.data();
  }
  // The gradient of step i's output is in buffer i % 2.
  float* const dlogits =
      want_gradient ? gradients_[(steps_.size() - 1) % 2].data() : nullptr;
  PS_ASSIGN_OR_RETURN(const SoftmaxCrossEntropyOp::Result loss,
                      loss_->Run(x, batch.labels.data(), dlogits));
  BatchResult result;
  result.loss = loss.loss;
  result.correct = loss.correct;
  result.examples = batch.size();
  return result;
}

absl::Status SequentialPlan::Backward(const BatchResult& forward,
                                      const float* weights, float* gradient,
                                      const GradientReady& ready) {
  for (size_t i = steps_.size(); i-- > lowest_;) {
    Step& step = steps_[i];
    PlannedLayer::BackwardArguments arguments;
    arguments.x = i == 0 ? input_.data() : steps_[i - 1].output.data();
    arguments.y = step.output.data();
    arguments.dy = gradients_[i % 2].data();
    arguments.weights = weights + step.begin;
    arguments.dx = i == lowest_ ? nullptr : gradients_[(i + 1) % 2].data();
    arguments.gradient = gradient + step.begin;
    PS_RETURN_IF_ERROR(step.layer->Backward(arguments));
    if (step.begin < step.end && ready != nullptr) {
      PS_RETURN_IF_ERROR(ready(forward, step.begin, step.end));
    }
  }
  return absl::OkStatus();
}

}  // namespace ps
