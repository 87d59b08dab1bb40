// SIDCo's threshold estimate: a law is fitted to all magnitudes, then to what
// exceeds its threshold, and so on; each stage looks further into the tail.
#ifndef COMPRESSORS_SIDCO_ESTIMATE_H_
#define COMPRESSORS_SIDCO_ESTIMATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/threshold_fit.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// What lies above a location that the vector before suggests.
struct FirstStage {
  float location = 0;
  Exceedances exceedances;
};

struct EstimateRequest {
  // The numbers of the vector that the law describes: its length, or its
  // non-zeros. At least 1, and not all equal.
  int64_t population = 0;
  // How many should exceed the threshold; in (0, population).
  double target = 0;
  Moments moments;
  // Of ln a over the population; only for a family that needs it.
  double sum_logs = 0;
  int stages = 1;
  // Aims each stage by the number that is left, so that the errors of earlier
  // stages do not multiply.
  bool count_correction = true;
  // What the first of several stages aims at. A target ratio above this needs
  // one stage only.
  double first_stage_ratio = 0.25;
  // Stands for the first of several stages, whose law is then not fitted, if it
  // is near what that stage aims at: see UsesFirstStage.
  std::optional<FirstStage> first_stage;
  // With fewer exceedances than this, another fit would be noise.
  int64_t min_exceedances = 32;
};

struct ThresholdEstimate {
  float threshold = 0;
  // Laws fitted. None if the magnitudes are all but equal: then there is no
  // estimate.
  int stages = 0;
  // There were too few exceedances to fit another law, or all were equal: the
  // threshold is lower than asked for.
  bool stopped = false;
};

// Whether the estimate begins with request.first_stage: it has one, more than
// one stage is asked for and useful, and what lies above it is within a factor
// of 2 of request.first_stage_ratio, and above the target.
bool UsesFirstStage(const EstimateRequest& request);

// Keeps, between vectors, only what makes the next estimate faster: an estimate
// is a pure function of the vector and the request. Not thread-safe.
class SidcoEstimator {
 public:
  explicit SidcoEstimator(const TailFamily& family) : family_(family) {}

  // `sieve` has been reset to the vector, of which request.moments are the
  // moments. Most of it is left aside in the sieve for a selection above the
  // threshold.
  absl::StatusOr<ThresholdEstimate> Estimate(const EstimateRequest& request,
                                             Sieve* sieve);

  // What the next vector is likely to be asked, by what this one was: the
  // location that the first stage's share of the exponential law exceeds, and
  // a little less than the threshold after it. Infinite where unknown.
  const SieveGuess& next_guess() const { return next_guess_; }

 private:
  // A guess, rather too low, of the next stage's threshold.
  float GuessNext(size_t stage, float threshold, double predicted_step) const;

  const TailFamily family_;
  // By stage, from the second on: how much farther it went than the one before
  // it, relative to that one, on the last vector.
  std::vector<double> steps_;
  SieveGuess next_guess_;
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_ESTIMATE_H_
