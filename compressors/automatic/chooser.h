// Decides which buckets to compress, from the time that iterations take.
#ifndef COMPRESSORS_AUTOMATIC_CHOOSER_H_
#define COMPRESSORS_AUTOMATIC_CHOOSER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "compressors/automatic/cost_samples.h"
#include "compressors/automatic/exchange_costs.h"

namespace ps {

// The result of a probe.
struct CompressionDecision {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  bool first = false;  // Whether it is the first of the job.
  // Whether it differs from the choice before the probe.
  bool changed = false;
  std::vector<bool> compressed;  // [bucket]
  // Typical seconds of an iteration: with the decision, with all buckets sent
  // whole, and with all compressed.
  double seconds = kUnknown;
  double dense_seconds = kUnknown;
  double compressed_seconds = kUnknown;
  double seconds_per_byte = kUnknown;  // See ModelBuckets.
};

// Chooses by costs alone. Uses neither tensors nor clocks: a pure function of
// the costs it observes. One object serves all buckets of a worker. Not
// thread-safe.
//
// Between probes, all iterations follow the last decision. A *probe* tries the
// other choices for a few iterations each: all buckets whole, all compressed,
// and the mix that ModelBuckets suggests, if it promises to beat both. The
// first iteration of each trial does not count, because caches are cold and
// answers may still have the other size. The fastest choice wins, but the
// current one stays unless another takes kHysteresis less time.
//
// When probes begin: the first one after three iterations (all compressed, the
// first of which does not count). The next one comes after decide_every
// iterations, then after twice as many, up to kMostBackOff times decide_every,
// as long as the choice stays; but after no more than twice decide_every if
// another choice takes less than 10 % longer. A change of the choice resets the
// distance. Probes begin at multiples of that distance and try choices in a
// fixed order whatever the current choice is, so that workers that differ come
// together again: a single worker cannot make an iteration faster. A probe also
// begins, at a multiple of ten iterations, when the time that iterations take,
// or the link's part of it, differs from that at the decision.
//
// Why this loses no more than 5 % against the better of all dense and all
// compressed: let b be the seconds of an iteration of the better one, and s b
// those of the other.
// - A trial that is clearly worse ends after two iterations that both take more
//   than 1.5 times the best so far, or after four above 1.25 times that;
//   otherwise it has 17. With a delay of one iteration a trial therefore loses
//   3 (s - 1) b if s is large, and about 5 b at most if it is small. A probe
//   has one such trial, and one or two more if a mix is better than both or
//   promises to be. The first probe, with the three iterations before it,
//   loses 4 (s - 1) b if compression is the worse choice.
// - A probe begins only if the loss of all probes, counting the last one twice,
//   is at most kProbeBudget, 2 %, of all seconds so far; after a change of the
//   iteration time the last one counts only once. So in T seconds probes lose
//   2 % of T, or the loss of the first probe, plus one probe for every change.
//   For s = 20 the first one loses 57 b, or 76 b: that is 5 % after 1140
//   iterations of b, or 1520. Shorter jobs may lose a larger share, but never
//   more seconds than that.
// - Between probes nothing is lost, except by a choice that is within
//   kHysteresis, 3 %, of the better one. In that case probes cost next to
//   nothing: 17 iterations that are 3 % longer in every decide_every.
// What remains is noise, which tests/compressors/automatic measures by
// simulation, and changes, which cost the time it takes to notice them: 10 to
// 20 iterations, if the budget allows for a probe.
class CompressionChooser {
 public:
  static constexpr double kHysteresis = 0.03;
  static constexpr double kProbeBudget = 0.02;
  static constexpr int64_t kMostBackOff = 16;

  // num_buckets: at least 1. decide_every: at least 10. delay: how many
  // iterations still follow the previous choice after each change of
  // compressed().
  CompressionChooser(size_t num_buckets, int64_t decide_every, int delay = 0);

  CompressionChooser(const CompressionChooser&) = delete;
  CompressionChooser& operator=(const CompressionChooser&) = delete;

  // The choice for the next iteration, after the delay: [bucket], whether it is
  // compressed. Changes only in Observe; the reference stays valid.
  const std::vector<bool>& compressed() const { return compressed_; }

  // Call after each iteration with its costs. Returns the decision if this
  // iteration ends a probe.
  std::optional<CompressionDecision> Observe(const ExchangeCosts& costs);

 private:
  struct Candidate {
    std::vector<bool> compressed;
    CostSamples samples;  // The samples, without the trial's first iteration.
    int iterations = 0;   // The iterations run in this probe.
    double smallest = std::numeric_limits<double>::infinity();  // Over all.
    bool done = false;
  };

  // Observes an iteration that followed the current choice.
  std::optional<CompressionDecision> ObserveChosen(const ExchangeCosts& costs);
  bool ProbeIsDue() const;
  bool HasDrifted() const;
  void StartProbe();
  void AddCandidate(std::vector<bool> compressed);
  // Whether the trial has run long enough.
  bool IsDone(const Candidate& candidate) const;
  // Whether the choice before the probe needs no trial.
  bool IsKnown(const Candidate& current) const;
  // Starts the next trial; false if there is none.
  bool NextTrial();
  std::optional<std::vector<bool>> PromisingMix() const;
  // The fastest candidate that has samples; `except` may be null.
  const Candidate* Best(const Candidate* except = nullptr) const;
  const Candidate* Find(bool compressed) const;  // All buckets, or none.
  CompressionDecision Decide();
  void Schedule(const CompressionDecision& decision, const Candidate& chosen);
  // Whether another candidate takes about as long as the chosen one.
  bool IsClose(const Candidate& chosen) const;

  const size_t num_buckets_;
  const int64_t decide_every_;
  const int delay_;

  std::vector<bool> compressed_;  // The choice for the next iteration.
  // The iterations that will still follow the last choice.
  int late_ = 0;
  int64_t iteration_ = 0;  // The number of the next iteration.
  double elapsed_ = 0;     // The seconds of all iterations.
  double lost_ = 0;        // The seconds lost to probes.
  double last_lost_ = 0;   // The seconds lost to the last probe.
  int64_t num_decisions_ = 0;

  // The following members are the state between probes.
  CostSamples steady_;          // Samples with the decided choice.
  bool drop_next_ = true;       // Set for the first iteration after a switch.
  int64_t num_steady_ = 0;      // The number of samples since the decision.
  double decided_seconds_ = 0;  // The time that the decision was based on.
  double decided_link_ = 0;
  int64_t next_probe_ = 0;  // The earliest iteration for it.
  int64_t distance_ = 0;    // The number of iterations between probes.

  // The following members are the state during a probe.
  bool probing_ = false;
  // Whether the probe began because of a drift.
  bool drifted_ = false;
  // The candidates in the order of their trials.
  std::vector<Candidate> candidates_;
  // The index of the choice before the probe.
  size_t current_ = 0;
  size_t running_ = 0;  // The index of the candidate on trial.
  bool considered_mix_ = false;
  double probe_seconds_ = 0;
  int64_t probe_iterations_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_CHOOSER_H_
