#include "compressors/automatic/chooser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compressors/automatic/bucket_model.h"
#include "glog/logging.h"

namespace ps {
namespace {

// The number of samples before the first probe of a job.
constexpr size_t kFirstSamples = 2;

// The number of iterations of a trial: if it is much worse than the best so
// far, if it is worse, and at most. The first iteration of each trial is not a
// sample.
constexpr int kMuchWorseIterations = 2;
constexpr double kMuchWorse = 1.5;
constexpr int kWorseIterations = 4;
constexpr double kWorse = 1.25;
constexpr int kMostIterations = 17;

// If another choice takes less than this many times the time of the chosen one,
// noise may have decided. Probes then cost little, and do not become as rare.
constexpr double kClose = 1.1;

// With fewer samples, the current choice is measured again.
constexpr size_t kEnoughSamples = 8;

// Unscheduled probes begin at multiples of kGrid, so that all workers begin
// them together. They look at the last kDriftSamples iterations, whose typical
// time stays within about 15 % in noise of 20 %.
constexpr int64_t kGrid = 10;
constexpr int64_t kDriftSamples = 8;
constexpr double kSecondsDrift = 1.3;
constexpr double kLinkDrift = 2;
// A change of the link's time must be at least this share of an iteration.
constexpr double kLeastLinkShare = 0.01;

bool DiffersBy(double factor, double a, double b) {
  return a > factor * b || b > factor * a;
}

}  // namespace

CompressionChooser::CompressionChooser(size_t num_buckets, int64_t decide_every,
                                       int delay)
    : num_buckets_(num_buckets),
      decide_every_(decide_every),
      delay_(delay),
      compressed_(num_buckets, true),
      distance_(decide_every) {
  CHECK_GE(num_buckets, 1u);
  CHECK_GE(decide_every, kGrid);
}

std::optional<CompressionDecision> CompressionChooser::Observe(
    const ExchangeCosts& costs) {
  CHECK_EQ(costs.buckets.size(), num_buckets_);
  ++iteration_;
  elapsed_ += costs.seconds;
  if (probing_) {
    probe_seconds_ += costs.seconds;
    ++probe_iterations_;
  }
  if (late_ > 0) {
    --late_;
    // These iterations of the last trial run after the decision.
    if (!probing_) lost_ += std::max(0.0, costs.seconds - decided_seconds_);
    return std::nullopt;
  }
  const std::vector<bool> before = compressed_;
  std::optional<CompressionDecision> decision = ObserveChosen(costs);
  if (compressed_ != before) late_ = delay_;
  return decision;
}

std::optional<CompressionDecision> CompressionChooser::ObserveChosen(
    const ExchangeCosts& costs) {
  if (probing_) {
    Candidate& candidate = candidates_[running_];
    if (candidate.iterations > 0) candidate.samples.Add(costs);
    ++candidate.iterations;
    candidate.smallest = std::min(candidate.smallest, costs.seconds);
    if (!IsDone(candidate)) return std::nullopt;
    candidate.done = true;
    if (NextTrial()) return std::nullopt;
    return Decide();
  }
  if (drop_next_) {
    drop_next_ = false;
  } else {
    steady_.Add(costs);
    ++num_steady_;
  }
  if (!ProbeIsDue()) return std::nullopt;
  StartProbe();
  return std::nullopt;
}

bool CompressionChooser::ProbeIsDue() const {
  if (num_decisions_ == 0) return steady_.size() >= kFirstSamples;
  if (iteration_ % kGrid != 0) return false;
  const double budget = kProbeBudget * elapsed_ - lost_;
  // The next probe loses about as much as the last one, unless something has
  // changed.
  if (iteration_ >= next_probe_ && last_lost_ <= budget) return true;
  return budget >= 0 && HasDrifted();
}

bool CompressionChooser::HasDrifted() const {
  if (num_steady_ < kDriftSamples) return false;
  const double seconds = steady_.SecondsOfLast(kDriftSamples);
  const double link = steady_.LinkOfLast(kDriftSamples);
  return DiffersBy(kSecondsDrift, seconds, decided_seconds_) ||
         (DiffersBy(kLinkDrift, link, decided_link_) &&
          std::abs(link - decided_link_) > kLeastLinkShare * seconds);
}

void CompressionChooser::StartProbe() {
  probing_ = true;
  drifted_ = num_decisions_ > 0 && HasDrifted();
  considered_mix_ = false;
  probe_seconds_ = 0;
  probe_iterations_ = 0;
  candidates_.clear();
  // The order is always the same, so that workers that differ try the same
  // choices at the same time. The exception is a drift, which every worker
  // sees: the current choice is then likely to be the worse one, so it is tried
  // last.
  std::vector<std::vector<bool>> order = {
      std::vector<bool>(num_buckets_, false),
      std::vector<bool>(num_buckets_, true)};
  const auto at = std::find(order.begin(), order.end(), compressed_);
  if (at == order.end()) {
    order.push_back(compressed_);
  } else if (drifted_) {
    std::rotate(at, at + 1, order.end());
  }
  for (std::vector<bool>& each : order) AddCandidate(std::move(each));
  for (current_ = 0; candidates_[current_].compressed != compressed_;) {
    ++current_;
  }
  Candidate& current = candidates_[current_];
  current.samples = steady_;
  // Samples from before the change say nothing about now; and the change may be
  // no more than a few slow iterations.
  if (drifted_) current.samples.KeepLast(kDriftSamples);
  if (num_decisions_ == 0) {
    // Compressing everything was not yet a choice, but a trial too.
    probe_iterations_ = static_cast<int64_t>(steady_.size());
    probe_seconds_ = static_cast<double>(probe_iterations_) * steady_.Seconds();
  }
  CHECK(NextTrial());
}

void CompressionChooser::AddCandidate(std::vector<bool> compressed) {
  Candidate candidate;
  candidate.compressed = std::move(compressed);
  candidates_.push_back(std::move(candidate));
}

bool CompressionChooser::IsDone(const Candidate& candidate) const {
  if (candidate.iterations >= kMostIterations) return true;
  const Candidate* const best = Best(&candidate);
  if (best == nullptr) return false;
  const double seconds = best->samples.Seconds();
  if (candidate.iterations >= kMuchWorseIterations &&
      candidate.smallest > kMuchWorse * seconds) {
    return true;
  }
  return candidate.iterations >= kWorseIterations &&
         candidate.samples.Seconds() > kWorse * seconds;
}

bool CompressionChooser::NextTrial() {
  const auto run = [this](size_t i) {
    running_ = i;
    compressed_ = candidates_[i].compressed;
    return true;
  };
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    if (!candidate.done && i == current_) candidate.done = IsKnown(candidate);
    if (!candidate.done) return run(i);
  }
  if (considered_mix_) return false;
  considered_mix_ = true;
  const std::optional<std::vector<bool>> mix = PromisingMix();
  if (!mix.has_value()) return false;
  AddCandidate(*mix);
  return run(candidates_.size() - 1);
}

bool CompressionChooser::IsKnown(const Candidate& current) const {
  const Candidate* const best = Best(&current);
  if (best == nullptr) return false;
  // The choice is so much worse, or better, that a few samples are enough.
  const double seconds = current.samples.Seconds();
  return current.samples.SmallestSeconds() >
             kMuchWorse * best->samples.Seconds() ||
         (!drifted_ && current.samples.size() >= kEnoughSamples &&
          best->samples.Seconds() > kWorse * seconds);
}

std::optional<std::vector<bool>> CompressionChooser::PromisingMix() const {
  const Candidate* const dense = Find(false);
  const Candidate* const compressed = Find(true);
  const BucketModel model =
      ModelBuckets(dense->samples.Typical(), compressed->samples.Typical());
  for (const Candidate& each : candidates_) {
    if (each.compressed == model.compressed) return std::nullopt;
  }
  if (model.seconds >= (1 - kHysteresis) * Best()->samples.Seconds()) {
    return std::nullopt;
  }
  return model.compressed;
}

const CompressionChooser::Candidate* CompressionChooser::Best(
    const Candidate* except) const {
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates_) {
    if (&each == except || each.samples.size() == 0) continue;
    if (best == nullptr || each.samples.Seconds() < best->samples.Seconds()) {
      best = &each;
    }
  }
  return best;
}

const CompressionChooser::Candidate* CompressionChooser::Find(
    bool compressed) const {
  const std::vector<bool> wanted(num_buckets_, compressed);
  for (const Candidate& each : candidates_) {
    if (each.compressed == wanted) return &each;
  }
  return nullptr;
}

CompressionDecision CompressionChooser::Decide() {
  const Candidate& current = candidates_[current_];
  const Candidate* chosen = Best();
  const double best_seconds = chosen->samples.Seconds();
  last_lost_ =
      std::max(0.0, probe_seconds_ -
                        static_cast<double>(probe_iterations_) * best_seconds);
  lost_ += last_lost_;
  if (best_seconds >= (1 - kHysteresis) * current.samples.Seconds()) {
    chosen = &current;
  }
  const Candidate& dense = *Find(false);
  const Candidate& compressed = *Find(true);
  CompressionDecision decision;
  decision.first = num_decisions_ == 0;
  decision.changed = chosen != &current;
  decision.compressed = chosen->compressed;
  decision.seconds = chosen->samples.Seconds();
  decision.dense_seconds = dense.samples.Seconds();
  decision.compressed_seconds = compressed.samples.Seconds();
  decision.seconds_per_byte =
      ModelBuckets(dense.samples.Typical(), compressed.samples.Typical())
          .seconds_per_byte;
  ++num_decisions_;
  probing_ = false;
  compressed_ = chosen->compressed;
  steady_ = chosen->samples;
  num_steady_ = 0;
  drop_next_ = chosen != &candidates_[running_];
  decided_seconds_ = decision.seconds;
  decided_link_ = steady_.LinkOfLast(steady_.size());
  Schedule(decision, *chosen);
  return decision;
}

void CompressionChooser::Schedule(const CompressionDecision& decision,
                                  const Candidate& chosen) {
  if (decision.first || decision.changed || drifted_) {
    distance_ = decide_every_;
  } else if (!IsClose(chosen) || distance_ == decide_every_) {
    distance_ = std::min(2 * distance_, kMostBackOff * decide_every_);
  }
  next_probe_ = (iteration_ / distance_ + 1) * distance_;
}

bool CompressionChooser::IsClose(const Candidate& chosen) const {
  const Candidate* const other = Best(&chosen);
  return other->samples.Seconds() < kClose * chosen.samples.Seconds();
}

}  // namespace ps
