#include "models/layers/chain.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/random.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<Tensor> PlanContext::Allocate(const Shape& shape) const {
  *activation_bytes += NumElements(shape) * static_cast<int64_t>(sizeof(float));
  return backend->Allocate(shape);
}

std::vector<PlacedLayer> PlaceLayers(
    std::vector<std::unique_ptr<Layer>> layers) {
  std::vector<PlacedLayer> placed(layers.size());
  int64_t parameters = 0;
  int64_t statistics = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    placed[i].begin = parameters;
    placed[i].statistics_begin = statistics;
    for (const LayerParameter& parameter : layers[i]->parameters()) {
      parameters += NumElements(parameter.shape);
    }
    for (const LayerStatistic& statistic : layers[i]->statistics()) {
      statistics += NumElements(statistic.shape);
    }
    placed[i].end = parameters;
    placed[i].layer = std::move(layers[i]);
  }
  return placed;
}

absl::StatusOr<std::unique_ptr<PlannedChain>> PlannedChain::Create(
    const std::vector<PlacedLayer>& layers, const PlanContext& context,
    const ActivationDesc& input) {
  if (layers.empty()) {
    return absl::InvalidArgumentError("a chain needs at least one layer");
  }
  std::unique_ptr<PlannedChain> chain(new PlannedChain(context));
  ActivationDesc activation = input;
  for (const PlacedLayer& placed : layers) {
    Step step;
    step.begin = placed.begin;
    step.end = placed.end;
    step.statistics_begin = placed.statistics_begin;
    step.timed = !placed.layer->kind().empty();
    if (step.timed) step.time_kind = context.times->Kind(placed.layer->kind());
    PS_ASSIGN_OR_RETURN(step.layer, placed.layer->Plan(context, activation));
    activation = step.layer->output();
    chain->steps_.push_back(std::move(step));
  }
  while (chain->lowest_ < layers.size() &&
         !layers[chain->lowest_].has_parameters()) {
    ++chain->lowest_;
  }
  chain->ShareBuffers();
  chain->TakeActivations();
  PS_RETURN_IF_ERROR(chain->AllocateBuffers());
  return chain;
}

bool PlannedChain::backward_reads_output() const {
  return steps_.back().layer->backward_reads_output();
}

// Decides which outputs overwrite their inputs, and which need not be kept for
// Backward.
void PlannedChain::ShareBuffers() {
  for (size_t i = 1; i < steps_.size(); ++i) {
    steps_[i].in_place =
        steps_[i].layer->in_place() &&
        !(context_.training && steps_[i - 1].layer->backward_reads_output());
  }
  Place place = Place::kCaller;
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    const bool shares_next = i + 1 < steps_.size() && steps_[i + 1].in_place;
    if (!shares_next && i + 1 < steps_.size()) {
      const bool kept =
          context_.training && (step.layer->backward_reads_output() ||
                                steps_[i + 1].layer->backward_reads_input());
      place = kept ? Place::kOwn : Place::kScratch;
    }
    step.place = place;
  }
}

// Lets layers apply the activation functions that follow them, except the last
// one, for which Backward would overwrite the caller's dy.
void PlannedChain::TakeActivations() {
  for (size_t i = 1; i + 1 < steps_.size(); ++i) {
    Step& step = steps_[i];
    const std::optional<Activation> function = step.layer->activation();
    step.taken = step.in_place && function.has_value() &&
                 steps_[i - 1].layer->TakeActivation(*function);
  }
}

absl::Status PlannedChain::AllocateBuffers() {
  int64_t scratch_outputs = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const int64_t num_floats = step.layer->output().num_floats;
    if (step.in_place) {
      step.own = steps_[i - 1].own;
      step.scratch_slot = steps_[i - 1].scratch_slot;
    } else if (step.place == Place::kOwn) {
      PS_ASSIGN_OR_RETURN(step.own, context_.Allocate({num_floats}));
    } else if (step.place == Place::kScratch) {
      step.scratch_slot =
          ScratchPool::ChainSlot(context_.scratch_depth, scratch_outputs++);
      context_.scratch->Reserve(step.scratch_slot, num_floats);
    }
    // This reserves the gradient of this step's output.
    if (context_.training && i + 1 < steps_.size()) {
      for (int turn = 0; turn < 2; ++turn) {
        context_.scratch->Reserve(
            ScratchPool::ChainSlot(context_.scratch_depth, turn), num_floats);
      }
    }
  }
  return absl::OkStatus();
}

float* PlannedChain::OutputOf(size_t i) {
  const Step& step = steps_[i];
  if (step.place == Place::kScratch) {
    return context_.scratch->data(step.scratch_slot);
  }
  return steps_[i].own.data();
}

float* PlannedChain::GradientBuffer(const float* in_use) {
  float* const first =
      context_.scratch->data(ScratchPool::ChainSlot(context_.scratch_depth, 0));
  if (first != in_use) return first;
  return context_.scratch->data(
      ScratchPool::ChainSlot(context_.scratch_depth, 1));
}

bool PlannedChain::records_forward() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.layer->records_forward();
  });
}

bool PlannedChain::records_backward() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.layer->records_backward();
  });
}

void PlannedChain::PrepareForward(
    const PlannedLayer::ForwardArguments& arguments) {
  forward_.assign(steps_.size(), arguments);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    PlannedLayer::ForwardArguments& a = forward_[i];
    if (i > 0) a.x = forward_[i - 1].y;
    a.weights = arguments.weights + step.begin;
    a.statistics = arguments.statistics + step.statistics_begin;
    a.y = step.place == Place::kCaller ? arguments.y : OutputOf(i);
    a.random_key = RandomKey(arguments.random_key, i);
  }
}

absl::Status PlannedChain::RunForward(size_t first, size_t end) {
  for (size_t i = first; i < end; ++i) {
    Step& step = steps_[i];
    if (step.taken) continue;
    if (forward_[i].reset_state) PS_RETURN_IF_ERROR(step.layer->ResetState());
    const LayerTimer timer(step.timed ? context_.times : nullptr,
                           step.time_kind, LayerTimes::Direction::kForward);
    PS_RETURN_IF_ERROR(step.layer->Forward(forward_[i]));
  }
  return absl::OkStatus();
}

absl::Status PlannedChain::Forward(
    const PlannedLayer::ForwardArguments& arguments,
    StretchRecorder* recorder) {
  PrepareForward(arguments);
  if (recorder == nullptr) return RunForward(0, steps_.size());
  for (size_t first = 0; first < steps_.size();) {
    size_t end = first;
    while (end < steps_.size() && steps_[end].layer->records_forward()) ++end;
    if (end == first) {
      PS_RETURN_IF_ERROR(RunForward(first, ++end));
    } else {
      PS_RETURN_IF_ERROR(recorder->Run(
          {LayerTimes::Direction::kForward, first, end, arguments.reset_state},
          [this, first, end] { return RunForward(first, end); }));
    }
    first = end;
  }
  return absl::OkStatus();
}

void PlannedChain::PrepareBackward(
    const PlannedLayer::BackwardArguments& arguments, size_t first) {
  backward_.assign(steps_.size(), arguments);
  float* dy = arguments.dy;
  for (size_t i = steps_.size(); i-- > first;) {
    const Step& step = steps_[i];
    PlannedLayer::BackwardArguments& a = backward_[i];
    a.x = i == 0 ? arguments.x : OutputOf(i - 1);
    a.y = step.place == Place::kCaller ? arguments.y : OutputOf(i);
    a.dy = dy;
    a.weights = arguments.weights + step.begin;
    a.gradient = arguments.gradient + step.begin;
    if (i == 0) {
      a.dx = arguments.dx;
    } else if (i == first) {
      a.dx = nullptr;
    } else if (step.layer->in_place() && i + 1 < steps_.size()) {
      a.dx = a.dy;
    } else {
      a.dx = GradientBuffer(a.dy);
    }
    dy = a.dx;
  }
}

absl::Status PlannedChain::RunBackward(size_t first, size_t end) {
  for (size_t i = end; i-- > first;) {
    Step& step = steps_[i];
    if (step.taken) continue;
    const LayerTimer timer(step.timed ? context_.times : nullptr,
                           step.time_kind, LayerTimes::Direction::kBackward);
    PS_RETURN_IF_ERROR(step.layer->Backward(backward_[i]));
  }
  return absl::OkStatus();
}

size_t PlannedChain::FirstOfStretch(const BackwardRecording& recording,
                                    size_t first, size_t end) const {
  size_t i = end - 1;
  if (recording.recorder == nullptr || !steps_[i].layer->records_backward()) {
    return i;
  }
  const auto completes_bucket = [&](const Step& step) {
    return std::any_of(recording.borders.begin(), recording.borders.end(),
                       [&](int64_t border) {
                         return step.begin <= border && border < step.end;
                       });
  };
  while (i > first && !completes_bucket(steps_[i]) &&
         steps_[i - 1].layer->records_backward()) {
    --i;
  }
  return i;
}

absl::Status PlannedChain::Backward(
    const PlannedLayer::BackwardArguments& arguments,
    const ChainGradientReady& ready, const BackwardRecording& recording) {
  // Without dx, there is no work below the lowest layer whose gradient counts.
  size_t first = arguments.dx == nullptr ? lowest_ : 0;
  if (arguments.dx == nullptr && !recording.borders.empty()) {
    const int64_t lowest = *absl::c_min_element(recording.borders);
    while (first + 1 < steps_.size() && steps_[first].end <= lowest) ++first;
  }
  PrepareBackward(arguments, first);
  for (size_t end = steps_.size(); end > first;) {
    const size_t begin = FirstOfStretch(recording, first, end);
    if (recording.recorder == nullptr ||
        !steps_[begin].layer->records_backward()) {
      PS_RETURN_IF_ERROR(RunBackward(begin, end));
    } else {
      PS_RETURN_IF_ERROR(recording.recorder->Run(
          {LayerTimes::Direction::kBackward, begin, end, false},
          [this, begin, end] { return RunBackward(begin, end); }));
    }
    const int64_t ready_begin = steps_[begin].begin;
    const int64_t ready_end = steps_[end - 1].end;
    if (ready_begin < ready_end && ready != nullptr) {
      PS_RETURN_IF_ERROR(ready(ready_begin, ready_end));
    }
    end = begin;
  }
  return absl::OkStatus();
}

absl::Status PlannedChain::SaveState(std::string* bytes) const {
  for (const Step& step : steps_) {
    PS_RETURN_IF_ERROR(step.layer->SaveState(bytes));
  }
  return absl::OkStatus();
}

absl::Status PlannedChain::LoadState(absl::string_view* bytes) {
  for (const Step& step : steps_) {
    PS_RETURN_IF_ERROR(step.layer->LoadState(bytes));
  }
  return absl::OkStatus();
}

}  // namespace ps
