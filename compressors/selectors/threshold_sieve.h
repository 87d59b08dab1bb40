// Counts above trial thresholds and selects above the final one, for the
// threshold baselines.
#ifndef COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_
#define COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "compressors/cuda/device_search.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/selector.h"
#include "compressors/selectors/threshold_search.h"

namespace ps {

// Describes how to find a threshold.
struct ThresholdQuery {
  ThresholdRule rule;
  // The rule of a sample that a device draws; it replaces rule.threshold.
  SampleRule sample;
  // The approximate number of elements that exceed the threshold.
  int64_t likely_count = 0;
};

// Negative thresholds count as 0. Not thread-safe.
class ThresholdSieve {
 public:
  // `kernels` is not owned and must outlive this object.
  explicit ThresholdSieve(SparseKernels* kernels);

  // Forms input.u; computes the moments' sums if the rule needs them. If an
  // element is not finite, sets stats->non_finite, and nothing may be selected.
  // If the kernels have a device, the device also finds the threshold and
  // selects.
  absl::Status Form(const SelectorInput& input, const ThresholdQuery& query,
                    CompressionStats* stats);

  // Whether the device has found the threshold, so that Select ignores its
  // rule.
  bool found() const { return found_; }

  // Selects all magnitudes of the vector above the rule's threshold, and sets
  // threshold and raw_count of *stats.
  absl::Status SelectAll(const ThresholdRule& rule, Selected* selected,
                         CompressionStats* stats);

  // Like SelectAll, but if nothing is selected: exact top-k of the non-zeros,
  // with fallback "empty". The baselines' own codes then send nothing, and may
  // do so for ever.
  absl::Status Select(const ThresholdRule& rule, Selected* selected,
                      CompressionStats* stats);

  // If Select has selected more than k elements, keeps the k largest and sets
  // the fallback to `why`.
  absl::Status Trim(int64_t k, const char* why, Selected* selected,
                    CompressionStats* stats);

 private:
  absl::Status Search(const ThresholdRule& rule, float* threshold);

  SparseKernels* const kernels_;  // Not owned.
  const std::unique_ptr<Sieve> sieve_;
  ExactTopK top_k_;
  // Created on first use.
  std::unique_ptr<DeviceSearch<DeviceThresholdRequest>> device_;
  // The vector that was formed last, and the device's result if found_.
  SelectorInput input_;
  Moments moments_;
  bool found_ = false;
  DeviceResult on_device_;
  // A lower bound that the device's next threshold will probably respect;
  // infinity if there was none before.
  float guess_ = std::numeric_limits<float>::infinity();
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_
