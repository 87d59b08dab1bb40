// Adapts the number of stages of a threshold estimate to how well it does.
#ifndef COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_
#define COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "compressors/state_io.h"

namespace ps {

struct StageControllerOptions {
  // More stages when too few were selected, fewer when too many: SIDCo's
  // Algorithm 1. Stays at one stage for ever if that selects too many.
  enum class Rule {
    kFixed,
    // As kFixed, but turns whenever the error |quality - 1| grew: mode -2 of
    // SIDCo's code.
    kReverse,
    // Keeps its direction while its moves do not make the error |ln quality|
    // grow, and turns when one does. Needs no assumption about the side of the
    // error. Forgets the error while the quality is in the band: an error that
    // comes after that is not the work of the last move. Were the small error
    // in the band remembered, every way out of it would count as growth, and
    // the first move would always undo the one that had led in; where one more
    // stage is needed after a while, that goes round for ever. Ours.
    kProbe,
  };
  Rule rule = Rule::kProbe;
  int max_stages = 1;    // At least 1.
  int start_stages = 1;  // In [1, max_stages].
  int adapt_every = 5;   // Observations to a decision; at least 1.
  // No change while the mean quality is in [1 - low, 1 + high].
  double tolerance_low = 0.2;
  double tolerance_high = 0.2;
};

class StageController {
 public:
  explicit StageController(const StageControllerOptions& options);

  // The number of stages to use next; in [1, max_stages].
  int stages() const { return stages_; }

  // quality: elements above the estimated threshold over the target, before any
  // fall-back or trimming; at least 0.
  void Observe(double quality);

  void Save(StateWriter* state) const;
  // Changes nothing unless it succeeds. Reads to the end of `state`.
  absl::Status Load(StateReader* state);

 private:
  void DecideFixed(double quality);
  void DecideReverse(double quality);
  void DecideProbe(double quality);
  bool InBand(double quality) const;

  StageControllerOptions options_;
  int stages_;
  int direction_ = 1;
  // At the last decision of kReverse or kProbe, by the measure of the rule.
  double last_error_ = std::numeric_limits<double>::infinity();
  double quality_sum_ = 0;
  int observations_ = 0;  // In quality_sum_.
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_STAGE_CONTROLLER_H_
