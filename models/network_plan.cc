#include "models/network_plan.h"

#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

Shape InputShape(const NetworkPlanOptions& options) {
  const ExampleShape& example = options.example;
  switch (example.task) {
    case Task::kImages:
      break;
    case Task::kWords:
    case Task::kCharacters:
    case Task::kTexts:
      return {options.steps, options.batch_size};
    case Task::kSpeech:
      return {options.steps, options.batch_size, example.features};
  }
  return {options.batch_size, example.channels, example.height, example.width};
}

// Returns the required number of targets, each with num_classes outputs; 0 if
// it is the number of outputs for the recordings' frames.
int64_t NumTargets(const NetworkPlanOptions& options) {
  switch (options.example.task) {
    case Task::kImages:
    case Task::kTexts:
      break;
    case Task::kWords:
    case Task::kCharacters:
      return options.steps * options.batch_size;
    case Task::kSpeech:
      return 0;
  }
  return options.batch_size;
}

absl::Status CheckOutput(const NetworkPlanOptions& options,
                         const Shape& output) {
  const int64_t classes = options.example.num_classes;
  const int64_t targets = NumTargets(options);
  if (!output.empty() && output.back() == classes &&
      (targets == 0 || NumElements(output) == targets * classes)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the last layer gives ", ShapeString(output), "; the loss needs ",
      classes, " outputs for each of ",
      targets > 0 ? absl::StrCat(targets, " targets") : "the frames"));
}

// Converts std::bad_alloc to a status: plans take most of a worker's memory.
template <typename Function>
auto CatchBadAlloc(const NetworkPlanOptions& options, const Function& function)
    -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a batch of ", options.batch_size,
        options.steps > 0 ? absl::StrCat(" with ", options.steps, " steps")
                          : ""));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<NetworkPlan>> NetworkPlan::Create(
    const NetworkPlanOptions& options) {
  return CatchBadAlloc(options, [&] { return CreateOrThrow(options); });
}

absl::StatusOr<std::unique_ptr<NetworkPlan>> NetworkPlan::CreateOrThrow(
    const NetworkPlanOptions& options) {
  std::unique_ptr<NetworkPlan> plan(new NetworkPlan(options));
  PlanContext context;
  context.backend = options.backend;
  context.scratch = &plan->scratch_;
  context.training = options.training;
  context.activation_bytes = &plan->activation_bytes_;
  context.times = options.times;

  const ActivationDesc input = ActivationDesc::Plain(InputShape(options));
  PS_ASSIGN_OR_RETURN(plan->input_, context.Allocate(input.shape));
  if (options.upload != nullptr) {
    PS_RETURN_IF_ERROR(options.upload->Reserve(plan->input_.size()));
  }
  PS_ASSIGN_OR_RETURN(plan->chain_,
                      PlannedChain::Create(*options.layers, context, input));
  const ActivationDesc& output = plan->chain_->output();
  PS_RETURN_IF_ERROR(CheckOutput(options, output.shape));
  PS_ASSIGN_OR_RETURN(plan->output_, context.Allocate({output.num_floats}));
  plan->output_gradient_ = plan->output_;
  if (options.training && plan->chain_->backward_reads_output()) {
    PS_ASSIGN_OR_RETURN(plan->output_gradient_,
                        context.Allocate({output.num_floats}));
  }
  PS_ASSIGN_OR_RETURN(plan->loss_, options.loss->Plan(context, output));
  plan->loss_time_ = options.times->Kind("loss");
  PS_RETURN_IF_ERROR(plan->scratch_.Allocate(options.backend));
  if (options.training && options.recordings != nullptr) {
    plan->recorder_ = std::make_unique<StretchRecorder>(
        options.backend, options.times, options.recordings);
  }
  return plan;
}

absl::StatusOr<BatchResult> NetworkPlan::Forward(const Batch& batch, bool sent,
                                                 const float* weights,
                                                 float* statistics) {
  PS_RETURN_IF_ERROR(CopyInputs(batch.inputs, sent));
  PlannedLayer::ForwardArguments arguments;
  arguments.x = input_.data();
  arguments.weights = weights;
  arguments.statistics = statistics;
  arguments.y = output_.data();
  arguments.random_key = batch.random_key;
  arguments.model_weights = weights;
  arguments.reset_state = !batch.continues;
  if (recorder_ != nullptr) {
    recorder_->Begin(LayerTimes::Direction::kForward, {weights, statistics});
  }
  PS_RETURN_IF_ERROR(chain_->Forward(arguments, recorder_.get()));
  const LayerTimer timer(options_.times, loss_time_,
                         LayerTimes::Direction::kForward);
  // This allocates memory for transcripts that are longer than all before.
  return CatchBadAlloc(options_, [&] {
    return loss_->Run(batch, output_.data(),
                      options_.training ? output_gradient_.data() : nullptr);
  });
}

absl::Status NetworkPlan::CopyOutputs(std::vector<float>* outputs) {
  const ActivationDesc& desc = chain_->output();
  outputs->resize(NumElements(desc.shape));
  if (desc.layout == nullptr) {
    return options_.backend->CopyToHost(output_, outputs->data());
  }
  // The output may be bfloat16 of a device, for example.
  if (reorder_outputs_ == nullptr) {
    PS_ASSIGN_OR_RETURN(reorder_outputs_,
                        options_.backend->nn().PlanReorder(desc));
    PS_ASSIGN_OR_RETURN(plain_outputs_, options_.backend->Allocate(desc.shape));
  }
  PS_RETURN_IF_ERROR(
      reorder_outputs_->Forward(output_.data(), plain_outputs_.data()));
  return options_.backend->CopyToHost(plain_outputs_, outputs->data());
}

absl::Status NetworkPlan::CopyInputs(const std::vector<float>& inputs,
                                     bool sent) {
  const int64_t given = static_cast<int64_t>(inputs.size());
  if (InputUpload* const upload = options_.upload; upload != nullptr) {
    if (!sent) PS_RETURN_IF_ERROR(upload->Send(inputs.data(), given));
    PS_RETURN_IF_ERROR(upload->Receive(input_.data()));
  } else {
    Tensor front = input_.Slice(0, given);
    PS_RETURN_IF_ERROR(options_.backend->CopyFromHost(inputs.data(), &front));
  }
  if (given == input_.size()) return absl::OkStatus();
  return options_.backend->vectors().Clear(input_.data() + given,
                                           input_.size() - given);
}

absl::Status NetworkPlan::Backward(const BatchResult& forward,
                                   const float* weights, float* gradient,
                                   const std::vector<int64_t>& borders,
                                   const GradientReady& ready) {
  PlannedLayer::BackwardArguments arguments;
  arguments.x = input_.data();
  arguments.y = output_.data();
  arguments.dy = output_gradient_.data();
  arguments.weights = weights;
  arguments.gradient = gradient;
  arguments.model_weights = weights;
  arguments.model_gradient = gradient;
  PlannedChain::BackwardRecording recording;
  recording.recorder = recorder_.get();
  recording.borders = borders;
  if (recorder_ != nullptr) {
    recorder_->Begin(LayerTimes::Direction::kBackward, {weights, gradient});
  }
  if (ready == nullptr) return chain_->Backward(arguments, nullptr, recording);
  return chain_->Backward(
      arguments,
      [&](int64_t begin, int64_t end) { return ready(forward, begin, end); },
      recording);
}

int64_t NetworkPlan::activation_bytes() const {
  return activation_bytes_ +
         scratch_.num_floats() * static_cast<int64_t>(sizeof(float));
}

absl::Status NetworkPlan::LoadState(absl::string_view bytes) {
  PS_RETURN_IF_ERROR(chain_->LoadState(&bytes));
  if (bytes.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the saved state of the recurrent layers has ", bytes.size(),
                   " bytes too many"));
}

}  // namespace ps
