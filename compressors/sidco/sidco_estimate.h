// Estimates SIDCo's threshold: a distribution is fitted to all magnitudes, then
// to the magnitudes above its threshold, and so on. Each stage looks further
// into the tail. The last threshold may then be corrected by counting.
#ifndef COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_
#define COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/fits/threshold_formulas.h"
#include "compressors/sidco/sidco_request.h"
#include "compressors/sidco/sidco_steps.h"
#include "tensor/sparse_kernels.h"

namespace ps {

struct ThresholdEstimate {
  float threshold = 0;
  // The number of elements above the last stage's threshold, if refined.
  std::optional<int64_t> estimated_count;
  // The number of distributions fitted. 0 if the magnitudes are all but equal:
  // then there is no estimate.
  int stages = 0;
  // Whether there were too few exceedances for another fit, or all were equal:
  // the threshold is lower than requested.
  bool stopped = false;
};

// The results of an estimate that the next one uses.
struct SidcoTrace {
  std::vector<CountedLocation> counted;
  std::optional<std::vector<double>> steps;  // Set by a cold estimate.
  double refine_reach = 1;
};

// Estimates thresholds. Keeps between vectors only what makes the next estimate
// faster: an estimate is a pure function of the vector and the request. Not
// thread-safe.
class SidcoEstimator {
 public:
  explicit SidcoEstimator(TailLaw law) : fits_{law} {}

  // Starts a new vector; call it before the vector's estimates.
  void Begin() { counted_.clear(); }

  // Makes a cold estimate. `sieve` must have been reset to the vector that
  // request.moments describe. Afterwards the sieve needs to read only a small
  // part of it for a selection above the threshold.
  absl::StatusOr<ThresholdEstimate> Estimate(const EstimateRequest& request,
                                             Sieve* sieve);

  // Makes a warm estimate: fits only the last distribution, above a location
  // that the previous vector suggests. Returns 0 stages if the number of
  // elements above it differs from WarmStartCount by more than a factor of 2,
  // or if a fit would be useless; a cold estimate must then be made. Ignores
  // request.moments except max. Requires HasSeveralStages.
  absl::StatusOr<ThresholdEstimate> EstimateFrom(float location,
                                                 const EstimateRequest& request,
                                                 Sieve* sieve);

  // Support an estimate that is made elsewhere by the same steps: Memory
  // returns the input from previous vectors (valid until the next call), and
  // Adopt takes the results.
  SidcoMemory Memory() const;
  void Adopt(SidcoTrace trace);

  // Returns the location that WarmStartCount elements of the next vector will
  // exceed if it resembles this one, of which raw_count elements exceed the
  // estimated threshold. It lies on the line through the two nearest counted
  // locations, drawn against the logarithm of the count. Infinity if these do
  // not determine it.
  float NextLocation(const EstimateRequest& request, float threshold,
                     int64_t raw_count) const;

 private:
  // Makes the measurements that `steps` asks for until it asks for no more.
  // Appends the step length of each stage to *taken.
  absl::StatusOr<ThresholdEstimate> Run(SidcoSteps* steps, Sieve* sieve,
                                        std::vector<double>* taken);

  const TailFits fits_;
  // The locations counted on this vector.
  std::vector<CountedLocation> counted_;
  // The last vector's steps by stage, from the second on: the change of the
  // threshold relative to the threshold before it.
  std::vector<double> steps_;
  // Slightly less than the ratio of the lowest threshold tried by the last
  // refinement to the one it began with.
  double refine_reach_ = 1;
};

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_ESTIMATE_H_
