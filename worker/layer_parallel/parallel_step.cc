#include "worker/layer_parallel/parallel_step.h"

#include <algorithm>

#include "common/clock.h"
#include "common/status_macros.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "worker/layer_parallel/auxiliary_steps.h"

namespace ps {
namespace {

// Adds the time of its life to *sum.
class Stopwatch {
 public:
  explicit Stopwatch(absl::Duration* sum)
      : sum_(sum), start_(SteadyClock()->Now()) {}
  ~Stopwatch() { *sum_ += SteadyClock()->Now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  absl::Duration* const sum_;
  const absl::Time start_;
};

// The same filter for a whole batch.
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
        cuts_(*cuts),
        ends_(cuts->size()),
        start_gradients_(cuts->size()) {
    result_.stage_times.resize(network_.num_stages());
  }

  absl::Status Repeat(bool first) {
    const int last = network_.num_stages() - 1;
    for (int k = 0; k <= last; ++k) {
      const Stopwatch stopwatch(&result_.stage_times[k]);
      PS_RETURN_IF_ERROR(Forward(k));
      PS_RETURN_IF_ERROR(k == last ? BackwardFromLoss() : BackwardFromCut(k));
      if (k > 0) TakeStartGradient(k);
    }
    // Only now, since every stage used the values before the step.
    for (int k = 1; k <= last; ++k) {
      const Stopwatch stopwatch(&result_.stage_times[k]);
      StepVariables(k, first);
    }
    return absl::OkStatus();
  }

  const ParallelStepResult& result() const { return result_; }

 private:
  const CutOptions& cut_options(int k) const { return options_.cuts[k - 1]; }
  BlockFilter filter(int k) const {
    return ForBatch(cut_options(k).filter, network_.batch_size());
  }

  absl::Status Forward(int k) {
    const float* start = batch_.inputs.data();
    if (k > 0) {
      full_.resize(filter(k).full_size());
      filter(k).Repeat(cuts_[k - 1].variables.data(), full_.data());
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

  // The cut at the end of stage k.
  absl::Status BackwardFromCut(int k) {
    const BlockFilter block = filter(k + 1);
    std::vector<float>& end = ends_[k];
    end.resize(block.filtered_size());
    block.Mean(network_.stage(k).end(), end.data());
    std::vector<float> gradient(end.size());
    TargetOf(ValuesOf(options_.penalty, &cuts_[k]), gradient.data());
    RoundForWire(cut_options(k + 1).wire, &gradient);
    // The gradient of the weights is the mean over the batch.
    EndGradient(static_cast<int64_t>(end.size()),
                options_.penalty / static_cast<double>(network_.batch_size()),
                end.data(), gradient.data(), gradient.data());
    RoundForWire(cut_options(k + 1).wire, &end);
    full_.resize(block.full_size());
    block.Repeat(gradient.data(), full_.data());
    return Backward(k, full_.data());
  }

  // The gradient at the start of stage k, per example.
  void TakeStartGradient(int k) {
    const BlockFilter block = filter(k);
    std::vector<float>& gradient = start_gradients_[k - 1];
    gradient.resize(block.filtered_size());
    block.Mean(network_.stage(k).start_gradient(), gradient.data());
    const auto examples = static_cast<float>(network_.batch_size());
    for (float& x : gradient) x *= examples;
  }

  void StepVariables(int k, bool first) {
    CutBatch& cut = cuts_[k - 1];
    const double squares =
        StepCut(ValuesOf(options_.penalty, &cut), ends_[k - 1].data(),
                start_gradients_[k - 1].data(), cut.step_size,
                std::min(1.0, cut.step_size * options_.penalty));
    if (first) {
      cut.mismatch = squares / static_cast<double>(network_.batch_size());
    }
  }

  const ParallelStepOptions& options_;
  const Batch& batch_;
  const StepVectors& vectors_;
  StagedNetwork& network_;
  std::vector<CutBatch>& cuts_;
  // Of each cut, filtered: the end of the stage before, as it was sent, and the
  // gradient at the start of the stage behind.
  std::vector<std::vector<float>> ends_;
  std::vector<std::vector<float>> start_gradients_;
  std::vector<float> full_;
  ParallelStepResult result_;
};

}  // namespace

void RoundForWire(LayerParallelConfig::WireFormat wire,
                  std::vector<float>* values) {
  if (wire == LayerParallelConfig::FP32) return;
  for (float& x : *values) x = Fp16::Widen(Fp16::Narrow(x));
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
