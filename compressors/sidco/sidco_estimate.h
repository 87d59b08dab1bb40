// SIDCo's threshold estimate: a law is fitted to all magnitudes, then to what
// exceeds its threshold, and so on; each stage looks further into the tail. The
// last threshold may then be corrected by counting.
#ifndef COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_
#define COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/sidco/sidco_request.h"
#include "compressors/sidco/sidco_steps.h"
#include "compressors/fits/threshold_fit.h"
#include "tensor/sparse_kernels.h"

namespace ps {

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

// What an estimate leaves for the next one.
struct SidcoTrace {
  std::vector<CountedLocation> counted;
  std::optional<std::vector<double>> steps;  // Of a cold estimate.
  double refine_reach = 1;
};

// Keeps, between vectors, only what makes the next estimate faster: an estimate
// is a pure function of the vector and the request. Not thread-safe.
class SidcoEstimator {
 public:
  explicit SidcoEstimator(const TailFamily& family) : fits_{family.law} {}

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

  // For an estimate that is made elsewhere, by the same steps: what it needs of
  // the vectors before (valid until the next call), and takes over what it
  // leaves.
  SidcoMemory Memory() const;
  void Adopt(SidcoTrace trace);

  // Where the next vector has WarmStartCount elements above it, if it is like
  // this one, of which raw_count lie above the estimated threshold: on the
  // line, in the logarithm of the count, through the nearest two of the places
  // where they were counted. Infinity if those do not say.
  float NextLocation(const EstimateRequest& request, float threshold,
                     int64_t raw_count) const;

 private:
  // Measures what `steps` asks for until it asks no more. Appends to *taken how
  // far each stage went.
  absl::StatusOr<ThresholdEstimate> Run(SidcoSteps* steps, Sieve* sieve,
                                        std::vector<double>* taken);

  const TailFits fits_;
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

#endif  // COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_
