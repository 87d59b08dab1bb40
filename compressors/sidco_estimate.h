// SIDCo's threshold estimate: a law is fitted to all magnitudes, then to what
// exceeds its threshold, and so on; each stage looks further into the tail. The
// last threshold may then be corrected by counting.
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
  // With fewer exceedances than this, another fit would be noise.
  int64_t min_exceedances = 32;
  // Thresholds corrected by counting, after the last stage, at most; 0: its
  // threshold is the estimate. See threshold_refine.h.
  int refine_steps = 0;
  double refine_tolerance = 0.05;
};

struct ThresholdEstimate {
  float threshold = 0;
  // How many exceed the last stage's threshold, where that was refined.
  std::optional<int64_t> estimated_count;
  // Laws fitted. None if the magnitudes are all but equal: then there is no
  // estimate.
  int stages = 0;
  // There were too few exceedances to fit another law, or all were equal: the
  // threshold is lower than asked for.
  bool stopped = false;
};

// The number of elements that should lie above the location of a warm start: a
// few times the target, and no more than the first stage aims at.
double WarmStartCount(const EstimateRequest& request);

// Whether an estimate has several stages at all: not if the target is above
// what the first of them aims at.
bool HasSeveralStages(const EstimateRequest& request);

// So many elements have a larger magnitude.
struct CountedLocation {
  float location = 0;
  int64_t count = 0;
};

// Keeps, between vectors, only what makes the next estimate faster: an estimate
// is a pure function of the vector and the request. Not thread-safe.
class SidcoEstimator {
 public:
  explicit SidcoEstimator(const TailFamily& family) : family_(family) {}

  // Before the estimates of another vector.
  void Begin() { counted_.clear(); }

  // `sieve` has been reset to the vector, of which request.moments are the
  // moments. Most of it is left aside in the sieve for a selection above the
  // threshold.
  absl::StatusOr<ThresholdEstimate> Estimate(const EstimateRequest& request,
                                             Sieve* sieve);

  // Fits the last law only, above a location that the vector before suggests.
  // No stages if the number above it is off WarmStartCount by more than a
  // factor of 2, or there is no use in a fit: then a cold estimate is to be
  // made. request.moments are not
  // looked at, but for max. For HasSeveralStages.
  absl::StatusOr<ThresholdEstimate> EstimateFrom(float location,
                                                 const EstimateRequest& request,
                                                 Sieve* sieve);

  // Where the next vector has WarmStartCount elements above it, if it is like
  // this one, of which raw_count lie above the estimated threshold: on the
  // line, in the logarithm of the count, through the nearest two of the places
  // where they were counted. Infinity if those do not say.
  float NextLocation(const EstimateRequest& request, float threshold,
                     int64_t raw_count) const;

 private:
  // A guess, rather too low, of the next stage's threshold.
  float GuessNext(size_t stage, float threshold, double predicted_step) const;
  // Corrects *estimate, given a location that `count` exceed, more than the
  // target.
  absl::Status Refine(const EstimateRequest& request, float location,
                      int64_t count, Sieve* sieve, ThresholdEstimate* estimate);

  // Fits a law to the exceedances over estimate->threshold, and moves it to
  // where `density` of them lie above. False if there is no use in that, or in
  // going on.
  absl::StatusOr<bool> Step(const EstimateRequest& request,
                            const Exceedances& exceedances, double density,
                            Sieve* sieve, ThresholdEstimate* estimate);

  const TailFamily family_;
  // On this vector.
  std::vector<CountedLocation> counted_;
  // By stage, from the second on: how much farther it went than the one before
  // it, relative to that one, on the last vector.
  std::vector<double> steps_;
  // A little less than the lowest threshold that the last refinement tried,
  // over the one that it began with.
  double refine_reach_ = 1;
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_ESTIMATE_H_
