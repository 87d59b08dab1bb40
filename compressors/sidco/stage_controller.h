// Adapts the number of stages of a threshold estimate to the quality of the
// estimates.
#ifndef COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_
#define COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "compressors/state_io.h"

namespace ps {

struct StageControllerOptions {
  // Adds a stage when too few were selected and removes one when too many were:
  // SIDCo's Algorithm 1. Stays at one stage for ever if one stage selects too
  // many.
  enum class Rule {
    kFixed,
    // Like kFixed, but reverses direction whenever the error |quality - 1|
    // grew: mode -2 of SIDCo's code.
    kReverse,
    // Our own rule. Keeps its direction while its moves do not increase the
    // error |ln quality|, and reverses when one does, so it needs no assumption
    // about the sign of the error. Forgets the error while the quality is in
    // the tolerance band, because a later error is not caused by the last move.
    // If the small error in the band were remembered, every departure from the
    // band would count as growth, and the first move would always undo the one
    // that had led in. Where one more stage is needed after a while, that would
    // cycle for ever.
    kProbe,
  };
  Rule rule = Rule::kProbe;
  int max_stages = 1;    // At least 1.
  int start_stages = 1;  // In [1, max_stages].
  int adapt_every = 5;   // Observations per decision; at least 1.
  // The tolerance band: the number does not change while the mean quality is in
  // [1 - low, 1 + high].
  double tolerance_low = 0.2;
  double tolerance_high = 0.2;
};

class StageController {
 public:
  explicit StageController(const StageControllerOptions& options);

  // The number of stages to use next; in [1, max_stages].
  int stages() const { return stages_; }

  // Takes the quality: the number of elements above the estimated threshold,
  // divided by the target, before any fallback or trimming; at least 0.
  void Observe(double quality);

  void Save(StateWriter* state) const;
  // Restores the state, to the end of `state`. Changes nothing on failure.
  absl::Status Load(StateReader* state);

 private:
  void DecideFixed(double quality);
  void DecideReverse(double quality);
  void DecideProbe(double quality);
  bool InBand(double quality) const;

  StageControllerOptions options_;
  int stages_;
  int direction_ = 1;
  // The error at the last decision of kReverse or kProbe, as that rule measures
  // it.
  double last_error_ = std::numeric_limits<double>::infinity();
  double quality_sum_ = 0;
  int observations_ = 0;  // The number of observations in quality_sum_.
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_
