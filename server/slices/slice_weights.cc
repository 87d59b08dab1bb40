#include "server/slices/slice_weights.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/algorithm/container.h"
#include "common/consistency.h"
#include "common/schedule.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "optimizers/sum_of_squares.h"
#include "server/slices/downlink_choice.h"
#include "server/slices/huge_pages.h"
#include "server/slices/touched_sum.h"
#include "transport/weights_digest.h"

namespace ps {
namespace {

// The number of elements per piece, so that the sum and the weights stay in the
// L2 cache between adding up and the optimizer's step.
constexpr int64_t kStretch = 16 * 1024;
// Keeps the divisor of clipping above 0, as in PyTorch's clip_grad_norm_.
constexpr double kClipEpsilon = 1e-6;
// The number of touched elements whose weights stay in the L2 cache between the
// optimizer's step and the reading of their new values.
constexpr size_t kTouchedAtOnce = 4096;

// Replaces each sum of votes by its sign; every server resolves ties to +1.
// Bernstein et al., "signSGD: compressed optimisation for non-convex problems",
// ICML 2018, section 4.
void TakeMajority(float* votes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) votes[i] = votes[i] < 0 ? -1.0f : 1.0f;
}

// Measures consecutive parts of the work: AddTo adds the time since the
// previous call.
class PhaseClock {
 public:
  void AddTo(double* seconds) {
    const auto now = std::chrono::steady_clock::now();
    *seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ =
      std::chrono::steady_clock::now();
};

// Returns the number of updates per iteration of the schedule: if each push is
// an update, the schedule counts num_workers pushes as one, and the learning
// rate is divided by this number.
int64_t UpdatesPerIteration(const JobConfig& config) {
  return UpdatesByEachPush(config) ? config.cluster().num_workers() : 1;
}

}  // namespace

absl::Status CheckFirst(UpdateRule rule, const PayloadInfo& info) {
  const bool dense = info.index_code == IndexCode::kDense;
  if (rule == UpdateRule::kExchange) {
    if (!dense && info.count == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "with downlink.mode MEAN servers keep no weights: the initial ones "
        "must have no elements");
  }
  // fp32 takes four bytes a weight. With a shorter code, a few bytes could make
  // the server allocate any number of weights.
  if (dense && info.value_code == ValueCode::kFp32) return absl::OkStatus();
  return absl::InvalidArgumentError("initial weights must be dense and fp32");
}

uint64_t DigestOf(const PayloadPieces& payload, int64_t num_elements) {
  std::vector<float> values(num_elements);
  DecodeDensePayload(payload, absl::MakeSpan(values));
  return WeightsDigest(values.data(), num_elements);
}

SliceWeights::SliceWeights(const SliceOptions& options)
    : options_(options),
      each_push_(UpdatesByEachPush(*options.config)),
      weights_(AllocateDense(options.num_elements)) {
  if (each_push_ &&
      ChosenDownlink(*options.config).mode() == DownlinkConfig::UPDATE) {
    log_.emplace(options.num_elements);
  }
}

absl::StatusOr<std::unique_ptr<SliceWeights>> SliceWeights::Create(
    const SliceOptions& options, const PayloadPieces& first) {
  std::unique_ptr<SliceWeights> weights(new SliceWeights(options));
  float* const values = DenseValues(&weights->weights_);
  if (options.rule == UpdateRule::kExchange) {
    std::fill_n(values, options.num_elements, 0.0f);
  } else {
    DecodeDensePayload(first, absl::MakeSpan(values, options.num_elements));
  }
  PS_RETURN_IF_ERROR(weights->Init());
  return weights;
}

absl::StatusOr<std::unique_ptr<SliceWeights>> SliceWeights::Load(
    const SliceOptions& options, StateReader* reader) {
  std::unique_ptr<SliceWeights> weights(new SliceWeights(options));
  PS_RETURN_IF_ERROR(reader->GetFloats(
      absl::MakeSpan(DenseValues(&weights->weights_), options.num_elements)));
  PS_RETURN_IF_ERROR(weights->Init());
  if (weights->optimizer_ != nullptr) {
    for (const auto& [name, values] : weights->optimizer_->State()) {
      PS_RETURN_IF_ERROR(reader->GetFloats(absl::MakeSpan(*values)));
    }
  }
  PS_RETURN_IF_ERROR(weights->downlink_->Load(reader));
  if (weights->log_.has_value()) {
    PS_RETURN_IF_ERROR(weights->log_->Load(reader));
  }
  return weights;
}

void SliceWeights::Save(StateWriter* writer) const {
  writer->PutFloats(DenseValues(weights_));
  if (optimizer_ != nullptr) {
    for (const auto& [name, values] : optimizer_->State()) {
      writer->PutFloats(*values);
    }
  }
  downlink_->Save(writer);
  if (log_.has_value()) log_->Save(writer);
}

absl::Status SliceWeights::Init() {
  if (options_.rule == UpdateRule::kOptimizer) {
    OptimizerOptions optimizer;
    optimizer.config = options_.config->optimizer();
    optimizer.num_elements = options_.num_elements;
    optimizer.stretches = options_.stretches;
    PS_ASSIGN_OR_RETURN(optimizer_, NewOptimizer(optimizer));
    for (const auto& [name, values] : optimizer_->State()) {
      UseHugePages(values->data(), values->size() * sizeof(float));
    }
  }
  PS_ASSIGN_OR_RETURN(downlink_, NewDownlink(options_, weights_));
  UseHugePages(weights_.data(), weights_.size_bytes());
  return absl::OkStatus();
}

void SliceWeights::Average(float* sums, int64_t n, const int* counts) const {
  if (options_.rule == UpdateRule::kOptimizer &&
      options_.config->optimizer().majority_vote()) {
    // If no worker sent anything, there was no vote; that is not a tie.
    if (sent_elements_ > 0) TakeMajority(sums, n);
  } else if (counts != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      sums[i] /= static_cast<float>(std::max(counts[i], 1));
    }
  } else if (num_workers_ > 1) {
    const float divisor = static_cast<float>(num_workers_);
    for (int64_t i = 0; i < n; ++i) sums[i] /= divisor;
  }
}

float* SliceWeights::WritableWeights() {
  if (!weights_.unique()) {
    // An answer that has not been sent yet still uses the memory.
    PayloadBuffer copy = AllocateDense(options_.num_elements);
    std::memcpy(copy.data(), weights_.data(), weights_.size_bytes());
    weights_ = std::move(copy);
  }
  return DenseValues(&weights_);
}

void SliceWeights::SumTouched(const GradientPayloads& gradients,
                              ServerTimings* timings) {
  PhaseClock clock;
  thread_local TouchedSum sum;
  thread_local std::vector<int> counts;
  sum.Sum(gradients.payloads, options_.num_elements, &indices_, &gradient_,
          averages_senders() ? &counts : nullptr);
  Average(gradient_.data(), static_cast<int64_t>(gradient_.size()),
          averages_senders() ? counts.data() : nullptr);
  clock.AddTo(&timings->sum);
}

void SliceWeights::SumAll(const GradientPayloads& gradients,
                          ServerTimings* timings) {
  PhaseClock clock;
  gradient_.assign(options_.num_elements, 0.0f);
  for (const PayloadPieces* payload : gradients.payloads) {
    AddPayload(*payload, gradient_.data());
  }
  thread_local std::vector<int> counts;
  if (averages_senders()) CountSenders(gradients.payloads, &counts);
  Average(gradient_.data(), options_.num_elements,
          averages_senders() ? counts.data() : nullptr);
  clock.AddTo(&timings->sum);
}

void SliceWeights::CountSenders(
    const std::vector<const PayloadPieces*>& payloads,
    std::vector<int>* counts) const {
  counts->assign(options_.num_elements, 0);
  for (const PayloadPieces* payload : payloads) {
    SparsePayloadReader reader(*payload);
    while (reader.Next()) {
      for (const uint32_t index : reader.indices()) ++(*counts)[index];
    }
  }
}

void SliceWeights::SumAndStep(const GradientPayloads& gradients,
                              ServerTimings* timings) {
  PhaseClock clock;
  float* const weights = WritableWeights();
  std::vector<DensePayloadReader> readers;
  for (const PayloadPieces* payload : gradients.payloads) {
    readers.emplace_back(*payload);
  }
  std::vector<float> sums(std::min(kStretch, options_.num_elements));
  for (int64_t begin = 0; begin < options_.num_elements; begin += kStretch) {
    const int64_t end = std::min(begin + kStretch, options_.num_elements);
    const int64_t n = end - begin;
    std::fill_n(sums.begin(), n, 0.0f);
    for (DensePayloadReader& reader : readers) {
      reader.AddNext({sums.data(), static_cast<size_t>(n)});
    }
    Average(sums.data(), n);
    clock.AddTo(&timings->sum);
    if (optimizer_ == nullptr) {
      std::copy_n(sums.begin(), n, weights + begin);
    } else {
      StepRange(begin, end, sums.data(), weights + begin);
    }
    clock.AddTo(&timings->optimizer);
  }
  all_filled_ = true;
}

void SliceWeights::SwapWithThread() {
  thread_local std::vector<float> gradient;
  thread_local std::vector<uint32_t> indices;
  gradient_.swap(gradient);
  indices_.swap(indices);
}

absl::StatusOr<SliceWeights::Outcome> SliceWeights::Begin(
    int64_t update, const GradientPayloads& gradients, ServerTimings* timings) {
  info_ = UpdateInfo();
  info_.update = update;
  const int64_t pushes = UpdatesPerIteration(*options_.config);
  info_.learning_rate =
      ServersLearningRate(*options_.config, options_.total_updates,
                          update / pushes) /
      static_cast<double>(pushes);
  num_workers_ = static_cast<int>(gradients.payloads.size());
  sent_elements_ = gradients.sent_elements;
  const bool lazy =
      options_.config->optimizer().sparse_update() == OptimizerConfig::LAZY;
  const bool votes = options_.config->optimizer().majority_vote();
  const bool exchange = options_.rule == UpdateRule::kExchange;
  touched_only_ = !gradients.any_dense &&
                  (exchange || (optimizer_ != nullptr && !votes &&
                                (lazy || optimizer_->skips_zeros())));
  stage_ = Stage::kSummed;
  const ChangedElements nothing;
  // Without a push there is no mean gradient, so no step is taken.
  if (num_workers_ == 0 && num_stages() == 0 && !exchange) {
    return Finish(&nothing, timings);
  }
  if (!touched_only_ && gradients.all_dense && num_stages() == 0) {
    SumAndStep(gradients, timings);
    return Finish(nullptr, timings);
  }
  // Without stages the gradient is needed only during this call, so slices
  // share its memory.
  if (num_stages() == 0) SwapWithThread();
  if (touched_only_) {
    SumTouched(gradients, timings);
  } else {
    SumAll(gradients, timings);
  }
  absl::StatusOr<Outcome> outcome = NextStage(timings);
  if (num_stages() == 0) SwapWithThread();
  return outcome;
}

absl::StatusOr<SliceWeights::Outcome> SliceWeights::NextStage(
    ServerTimings* timings) {
  PhaseClock clock;
  if (stage_ < Stage::kNorm && num_stages() > 0) {
    stage_ = Stage::kNorm;
    Outcome outcome{GradientSquares(), {}};
    clock.AddTo(&timings->sum);
    return outcome;
  }
  if (stage_ < Stage::kLayers && layer_wise()) {
    stage_ = Stage::kLayers;
    Outcome outcome{optimizer_->PartialSquares(info_, gradient_.data(),
                                               DenseValues(weights_).data()),
                    {}};
    clock.AddTo(&timings->optimizer);
    return outcome;
  }
  ChangedElements changed;
  if (num_workers_ == 0 && options_.rule != UpdateRule::kExchange) {
    return Finish(&changed, timings);
  }
  Step();
  clock.AddTo(&timings->optimizer);
  changed = {indices_, absl::MakeSpan(gradient_)};
  return Finish(touched_only_ ? &changed : nullptr, timings);
}

absl::StatusOr<SliceWeights::Outcome> SliceWeights::Continue(
    const std::vector<Squares>& stretch_totals, double norm,
    ServerTimings* timings) {
  if (stage_ == Stage::kNorm) {
    // The norm can overflow although each value is finite. All servers have the
    // same norm and take the same decision.
    if (!std::isfinite(norm)) {
      if (options_.config->training().non_finite() == TrainingConfig::FAIL) {
        return absl::DataLossError(
            "the norm of the workers' gradient is not finite: training has "
            "diverged; lower optimizer.learning_rate");
      }
      const ChangedElements nothing;
      return Finish(&nothing, timings);
    }
    if (clips()) {
      info_.gradient_scale =
          std::min(1.0, options_.config->optimizer().clip_norm() /
                            (norm + kClipEpsilon));
    }
  } else {
    optimizer_->SetTotals(info_, stretch_totals);
  }
  return NextStage(timings);
}

std::vector<Squares> SliceWeights::GradientSquares() const {
  std::vector<Squares> squares(options_.stretches.size());
  size_t i = 0;
  for (size_t s = 0; s < squares.size(); ++s) {
    const TensorStretch& stretch = options_.stretches[s];
    if (!touched_only_) {
      squares[s].gradient = SumOfSquares(gradient_.data() + stretch.begin,
                                         stretch.end - stretch.begin);
      continue;
    }
    const size_t begin = i;
    while (i < indices_.size() && indices_[i] < stretch.end) ++i;
    squares[s].gradient = SumOfSquares(gradient_.data() + begin, i - begin);
  }
  return squares;
}

void SliceWeights::Step() {
  float* const weights = WritableWeights();
  if (optimizer_ == nullptr) {
    WriteMean(weights);
  } else if (touched_only_) {
    StepTouched(weights);
  } else {
    StepRange(0, options_.num_elements, gradient_.data(), weights);
  }
}

template <typename Visit>
void SliceWeights::ForRates(int64_t begin, int64_t end, Visit visit) const {
  const std::vector<TensorStretch>& stretches = options_.stretches;
  auto stretch = absl::c_upper_bound(
      stretches, begin,
      [](int64_t element, const TensorStretch& s) { return element < s.end; });
  while (begin < end) {
    UpdateInfo info = info_;
    const double rate = stretch->rate;
    info.learning_rate *= rate;
    while (stretch->end < end && std::next(stretch)->rate == rate) ++stretch;
    begin = std::min(end, stretch->end);
    visit(begin, info);
    ++stretch;
  }
}

void SliceWeights::StepRange(int64_t begin, int64_t end, const float* gradient,
                             float* weights) {
  if (layer_wise()) {
    optimizer_->Step(info_, begin, end, gradient, weights);
    return;
  }
  int64_t from = begin;
  ForRates(begin, end, [&](int64_t to, const UpdateInfo& info) {
    optimizer_->Step(info, from, to, gradient + (from - begin),
                     weights + (from - begin));
    from = to;
  });
}

void SliceWeights::StepTouched(float* weights) {
  const absl::Span<const uint32_t> all = indices_;
  size_t from = 0;
  ForRates(0, options_.num_elements, [&](int64_t end, const UpdateInfo& info) {
    const size_t to =
        std::lower_bound(all.begin() + from, all.end(), end) - all.begin();
    while (from < to) {
      const auto part = all.subspan(from, std::min(kTouchedAtOnce, to - from));
      float* const values = gradient_.data() + from;
      optimizer_->StepTouched(info, part, values, weights);
      for (size_t i = 0; i < part.size(); ++i) values[i] = weights[part[i]];
      from += part.size();
    }
  });
}

void SliceWeights::WriteMean(float* mean) {
  if (!touched_only_) {
    std::copy(gradient_.begin(), gradient_.end(), mean);
    all_filled_ = true;
    return;
  }
  if (all_filled_) std::fill_n(mean, options_.num_elements, 0.0f);
  for (const uint32_t i : filled_) mean[i] = 0;
  for (size_t i = 0; i < indices_.size(); ++i) mean[indices_[i]] = gradient_[i];
  filled_ = indices_;
  all_filled_ = false;
}

absl::StatusOr<SliceWeights::Outcome> SliceWeights::Finish(
    const ChangedElements* changed, ServerTimings* timings) {
  PhaseClock clock;
  Outcome outcome;
  if (log_.has_value()) {
    changed == nullptr ? log_->AddAll() : log_->Add(changed->indices);
  }
  if (!each_push_) {
    PS_ASSIGN_OR_RETURN(outcome.answer, downlink_->Changes(weights_, changed));
  }
  clock.AddTo(&timings->encode);
  return outcome;
}

absl::StatusOr<DownlinkPayload> SliceWeights::Since(int64_t version,
                                                    ServerTimings* timings) {
  PhaseClock clock;
  const bool known = log_.has_value() && log_->Since(version, &since_);
  ChangedElements changed;
  if (known) {
    const absl::Span<const float> all = DenseValues(weights_);
    since_values_.resize(since_.size());
    for (size_t i = 0; i < since_.size(); ++i) {
      since_values_[i] = all[since_[i]];
    }
    changed = {since_, absl::MakeSpan(since_values_)};
  }
  PS_ASSIGN_OR_RETURN(DownlinkPayload changes,
                      downlink_->Changes(weights_, known ? &changed : nullptr));
  clock.AddTo(&timings->encode);
  return changes;
}

uint64_t SliceWeights::Digest() const {
  const PayloadBuffer all = All();
  return DigestOf({all.span()}, options_.num_elements);
}

}  // namespace ps
