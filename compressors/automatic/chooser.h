// Decides, from what iterations take, which buckets to compress.
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

// What came out of a probe.
struct CompressionDecision {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  bool first = false;            // Of the job.
  bool changed = false;          // Not what was done before the probe.
  std::vector<bool> compressed;  // [bucket]
  // Typical seconds of an iteration: of what was decided, and of all buckets
  // sent whole and all compressed.
  double seconds = kUnknown;
  double dense_seconds = kUnknown;
  double compressed_seconds = kUnknown;
  double seconds_per_byte = kUnknown;  // See ModelBuckets.
};

// Knows neither tensors nor clocks: a pure function of what it is told. One
// object serves all buckets of a worker. Not thread-safe.
//
// Between probes all iterations do what was decided last. A *probe* tries the
// other choices, each for a few iterations: all buckets whole, all compressed,
// and those compressed that ModelBuckets says, if that promises to beat both.
// The first iteration of each trial does not count, because caches are cold and
// answers may still have the other size. What takes least decides, but what is
// done already stays unless another takes kHysteresis less.
//
// When: the first probe begins after three iterations (all compressed, the
// first of which does not count). The next comes after decide_every iterations,
// then after twice as many, up to kMostBackOff times decide_every, as long as
// the choice stays; but not more than twice decide_every where another takes
// less than 10 % longer. A change of the choice begins anew. Probes begin at
// multiples of that distance and try things in one order, whatever was done
// before, so that workers that differ meet again: alone, neither of them makes
// an iteration faster. A probe also begins, at a multiple of ten iterations,
// when what iterations take, or the link's part of it, is no longer what it was
// at the decision.
//
// Why it does not lose more than 5 % against the better of all dense and all
// compressed. Let b be the better one's seconds of an iteration, s b the
// other's.
// - A trial that is clearly worse ends: after two iterations, both above 1.5
//   times the best so far, or after four above 1.25 times that; else it has 17.
//   With a delay of one iteration a trial so loses 3 (s - 1) b where s is
//   large, and some 5 b at most where it is small. A probe has one, and one or
//   two more where a mix is better than both or promises to be. The first one,
//   with the three iterations before it, loses 4 (s - 1) b if compression is
//   what is worse.
// - A probe begins only if what all probes have lost, and the last one once
//   more, is at most kProbeBudget, 2 %, of all seconds so far; after a change
//   of what iterations take, if what they have lost is. So in T seconds they
//   lose 2 % of T, or what the first one did, and for every change one probe
//   more. For s = 20 the first one loses 57 b, or 76 b: that is 5 % after 1140
//   iterations of b, or 1520. Shorter jobs may lose a larger share, but never
//   more seconds than that.
// - Between probes nothing is lost, but by a choice that is within kHysteresis
//   of the better one, 3 %. There probes cost next to nothing: 17 iterations
//   that are 3 % longer in decide_every.
// What is left is noise, which tests/compressors/automatic judges by
// simulation, and changes, which cost what it takes to notice them: 10 to 20
// iterations, if the budget allows for a probe.
class CompressionChooser {
 public:
  static constexpr double kHysteresis = 0.03;
  static constexpr double kProbeBudget = 0.02;
  static constexpr int64_t kMostBackOff = 16;

  // At least one bucket; decide_every at least 10. delay: so many iterations
  // still do what was chosen before, after each change of compressed().
  CompressionChooser(size_t num_buckets, int64_t decide_every, int delay = 0);

  CompressionChooser(const CompressionChooser&) = delete;
  CompressionChooser& operator=(const CompressionChooser&) = delete;

  // What the next iteration does, after the delay: [bucket], whether it is
  // compressed. Changes in Observe only; the reference stays valid.
  const std::vector<bool>& compressed() const { return compressed_; }

  // After each iteration, with what it took. Returns what was decided, where
  // this ends a probe.
  std::optional<CompressionDecision> Observe(const ExchangeCosts& costs);

 private:
  struct Candidate {
    std::vector<bool> compressed;
    CostSamples samples;  // Without the first iteration.
    int iterations = 0;   // That it ran in this probe.
    double smallest = std::numeric_limits<double>::infinity();  // Of all those.
    bool done = false;
  };

  // After an iteration that did what was chosen.
  std::optional<CompressionDecision> ObserveChosen(const ExchangeCosts& costs);
  bool ProbeIsDue() const;
  bool HasDrifted() const;
  void StartProbe();
  void AddCandidate(std::vector<bool> compressed);
  // Whether the trial has shown enough.
  bool IsDone(const Candidate& candidate) const;
  // Whether what was done before needs no trial.
  bool IsKnown(const Candidate& current) const;
  // Finds what to try next; false if there is nothing.
  bool NextTrial();
  std::optional<std::vector<bool>> PromisingMix() const;
  // Of those that have samples; `except` may be null.
  const Candidate* Best(const Candidate* except = nullptr) const;
  const Candidate* Find(bool compressed) const;  // All, or none.
  CompressionDecision Decide();
  void Schedule(const CompressionDecision& decision, const Candidate& chosen);
  // Whether another takes about as long as what was chosen.
  bool IsClose(const Candidate& chosen) const;

  const size_t num_buckets_;
  const int64_t decide_every_;
  const int delay_;

  std::vector<bool> compressed_;  // Of the next iteration.
  int late_ = 0;           // Iterations to come that do what was chosen before.
  int64_t iteration_ = 0;  // The next one's number.
  double elapsed_ = 0;     // Seconds of all iterations.
  double lost_ = 0;        // Of those, by probes.
  double last_lost_ = 0;   // By the last probe.
  int64_t num_decisions_ = 0;

  // Between probes.
  CostSamples steady_;          // Of what was decided.
  bool drop_next_ = true;       // The first iteration after a switch.
  int64_t num_steady_ = 0;      // Samples since the decision.
  double decided_seconds_ = 0;  // What the decision was based on.
  double decided_link_ = 0;
  int64_t next_probe_ = 0;  // Not before this iteration.
  int64_t distance_ = 0;    // Between probes.

  // In a probe.
  bool probing_ = false;
  bool drifted_ = false;               // That is why it began.
  std::vector<Candidate> candidates_;  // In the order of their trials.
  size_t current_ = 0;                 // Index of what was done before.
  size_t running_ = 0;                 // Index of the one that is tried.
  bool considered_mix_ = false;
  double probe_seconds_ = 0;
  int64_t probe_iterations_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_CHOOSER_H_
