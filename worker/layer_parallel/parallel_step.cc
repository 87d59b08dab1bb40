#include "worker/layer_parallel/parallel_step.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/status_macros.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "worker/layer_parallel/auxiliary_steps.h"

namespace ps {
namespace {

// Adds the time of its life to *sum, without waiting for other workers. links:
// null if there are none.
class Stopwatch {
 public:
  Stopwatch(const StageLinks* links, absl::Duration* sum)
      : links_(links), sum_(sum), start_(Now()) {}
  ~Stopwatch() { *sum_ += Now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  absl::Time Now() const {
    const absl::Time now = SteadyClock()->Now();
    return links_ == nullptr ? now : now - links_->waited();
  }

  const StageLinks* const links_;
  absl::Duration* const sum_;
  const absl::Time start_;
};

// Returns the same filter for a whole batch.
BlockFilter ForBatch(BlockFilter filter, int64_t batch_size) {
  filter.planes *= batch_size;
  return filter;
}

CutValues<float> ValuesOf(double penalty, CutBatch* cut) {
  CutValues<float> values;
  values.size = static_cast<int64_t>(cut->variables.size());
  values.variables = cut->variables.data();
  if (!cut->multipliers.empty()) values.multipliers = cut->multipliers.data();
  values.penalty = penalty;
  return values;
}

class Step {
 public:
  Step(const ParallelStepOptions& options, const Batch& batch,
       const StepVectors& vectors, StagedNetwork* network,
       std::vector<CutBatch>* cuts)
      : options_(options),
        batch_(batch),
        vectors_(vectors),
        network_(*network),
        first_cut_(std::max(1, network->first())),
        cuts_(*cuts),
        ends_(cuts->size()),
        start_gradients_(cuts->size()) {
    result_.batch.examples = batch.size();
    result_.stage_times.resize(network_.last() - network_.first() + 1);
  }

  absl::Status Repeat(bool first) {
    // The target is sent early: the worker with the stage before needs it next.
    if (network_.first() > 0) PS_RETURN_IF_ERROR(SendTarget());
    for (int k = network_.first(); k <= network_.last(); ++k) {
      const Stopwatch stopwatch(network_.links(), time(k));
      PS_RETURN_IF_ERROR(Forward(k));
      PS_RETURN_IF_ERROR(k + 1 == network_.num_stages() ? BackwardFromLoss()
                                                        : BackwardFromCut(k));
      if (k > 0) TakeStartGradient(k);
    }
    if (network_.first() > 0) {
      PS_RETURN_IF_ERROR(network_.links()->ReceiveForward(
          filter(first_cut_).filtered_size(), cut_options(first_cut_).wire,
          &ends_.front()));
    }
    // The steps come last, since every stage used the values before them.
    for (int k = first_cut_; k <= network_.last(); ++k) {
      const Stopwatch stopwatch(network_.links(), time(k));
      StepVariables(k, first);
    }
    return absl::OkStatus();
  }

  const ParallelStepResult& result() const { return result_; }

 private:
  // Returns the cut before stage k.
  const CutOptions& cut_options(int k) const { return options_.cuts[k - 1]; }
  BlockFilter filter(int k) const {
    return ForBatch(cut_options(k).filter, network_.batch_size());
  }
  CutBatch& cut(int k) { return cuts_[k - first_cut_]; }
  std::vector<float>& end_before(int k) { return ends_[k - first_cut_]; }
  absl::Duration* time(int k) {
    return &result_.stage_times[k - network_.first()];
  }

  absl::Status Forward(int k) {
    const float* start = batch_.inputs.data();
    if (k > 0) {
      full_.resize(filter(k).full_size());
      filter(k).Repeat(cut(k).variables.data(), full_.data());
      start = full_.data();
    }
    return network_.stage(k).Forward(start,
                                     network_.StageValues(k, batch_, vectors_));
  }

  absl::Status Backward(int k, const float* end_gradient) {
    return network_.stage(k).Backward(end_gradient,
                                      network_.StageValues(k, batch_, vectors_),
                                      network_.StageGradient(k, vectors_));
  }

  absl::Status BackwardFromLoss() {
    PS_ASSIGN_OR_RETURN(result_.batch, network_.RunLoss(batch_));
    return Backward(network_.num_stages() - 1, network_.logits_gradient());
  }

  // Returns the target for the stage before stage k.
  std::vector<float> Target(int k) {
    std::vector<float> target(cut(k).variables.size());
    TargetOf(ValuesOf(options_.penalty, &cut(k)), target.data());
    RoundForWire(cut_options(k).wire, &target);
    return target;
  }

  absl::Status SendTarget() {
    const Stopwatch stopwatch(network_.links(), time(first_cut_));
    const std::vector<float> target = Target(first_cut_);
    return network_.links()->SendBackward(target.data(),
                                          static_cast<int64_t>(target.size()),
                                          cut_options(first_cut_).wire);
  }

  // Runs stage k backward from the cut at its end.
  absl::Status BackwardFromCut(int k) {
    const LayerParallelConfig::WireFormat wire = cut_options(k + 1).wire;
    const BlockFilter block = filter(k + 1);
    const int64_t size = block.filtered_size();
    std::vector<float> end(size);
    block.Mean(network_.stage(k).end(), end.data());
    std::vector<float> sent = end;
    RoundForWire(wire, &sent);
    std::vector<float> target;
    if (k == network_.last()) {
      PS_RETURN_IF_ERROR(
          network_.links()->SendForward(sent.data(), size, wire));
      PS_RETURN_IF_ERROR(
          network_.links()->ReceiveBackward(size, wire, &target));
    } else {
      target = Target(k + 1);
      end_before(k + 1) = std::move(sent);
    }
    // The gradient of the weights is the mean over the batch.
    EndGradient(size,
                options_.penalty / static_cast<double>(network_.batch_size()),
                end.data(), target.data(), target.data());
    full_.resize(block.full_size());
    block.Repeat(target.data(), full_.data());
    return Backward(k, full_.data());
  }

  // Stores the gradient at the start of stage k, per example.
  void TakeStartGradient(int k) {
    const BlockFilter block = filter(k);
    std::vector<float>& gradient = start_gradients_[k - first_cut_];
    gradient.resize(block.filtered_size());
    block.Mean(network_.stage(k).start_gradient(), gradient.data());
    const auto examples = static_cast<float>(network_.batch_size());
    for (float& x : gradient) x *= examples;
  }

  void StepVariables(int k, bool first) {
    CutBatch& own = cut(k);
    const double squares =
        StepCut(ValuesOf(options_.penalty, &own), end_before(k).data(),
                start_gradients_[k - first_cut_].data(), own.step_size,
                std::min(1.0, own.step_size * options_.penalty));
    if (first) {
      own.mismatch = squares / static_cast<double>(network_.batch_size());
    }
  }

  const ParallelStepOptions& options_;
  const Batch& batch_;
  const StepVectors& vectors_;
  StagedNetwork& network_;
  const int first_cut_;  // This worker's first cut, which is before this stage.
  std::vector<CutBatch>& cuts_;
  // Values of each of its cuts, filtered: the end of the stage before, as it
  // was sent, and the gradient at the start of the stage behind.
  std::vector<std::vector<float>> ends_;
  std::vector<std::vector<float>> start_gradients_;
  std::vector<float> full_;
  ParallelStepResult result_;
};

}  // namespace

void RoundForWire(LayerParallelConfig::WireFormat wire,
                  std::vector<float>* values) {
  if (wire == LayerParallelConfig::FP32) return;
  for (float& x : *values) x = Fp16::Widen(NarrowForWire(x));
}

int64_t WireBytes(LayerParallelConfig::WireFormat wire) {
  return wire == LayerParallelConfig::FP32 ? 4 : 2;
}

absl::StatusOr<ParallelStepResult> ParallelStep(
    const ParallelStepOptions& options, const Batch& batch,
    const StepVectors& vectors, StagedNetwork* network,
    std::vector<CutBatch>* cuts) {
  Step step(options, batch, vectors, network, cuts);
  for (int i = 0; i < options.inner_steps; ++i) {
    PS_RETURN_IF_ERROR(step.Repeat(i == 0));
  }
  return step.result();
}

}  // namespace ps
