// What the threshold baselines share: counts above trial thresholds, and the
// selection above the one that is left.
#ifndef COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_
#define COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "compressors/cuda/device_threshold.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/selector.h"
#include "compressors/selectors/threshold_search.h"

namespace ps {

// How a threshold is found.
struct ThresholdQuery {
  ThresholdRule rule;
  // In place of rule.threshold, which is then of no matter, where a device
  // draws the sample.
  SampleRule sample;
  // About how many elements exceed the threshold.
  int64_t likely_count = 0;
};

// Thresholds below 0 count as 0. Not thread-safe.
class ThresholdSieve {
 public:
  // `kernels` is not owned and outlives this.
  explicit ThresholdSieve(SparseKernels* kernels);

  // As Selector::AddAndMeasure, with the moments' sums if the rule needs them.
  // Where the kernels have a device it finds and selects what the next Select
  // of `out` is for.
  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, const ThresholdQuery& query, float* out,
                             Moments* moments);

  // Whether the device has found the threshold of u: Select then looks at no
  // rule.
  bool Found(const float* u) const { return found_ == u; }

  // Selects all magnitudes above the rule's threshold, and sets the threshold
  // and raw_count of *stats.
  absl::Status SelectAll(const SelectorInput& input, const ThresholdRule& rule,
                         Selected* selected, CompressionStats* stats);

  // The same, but if there are none: exact top-k of the non-zeros, fallback
  // "empty". The baselines' codes send nothing then, and may do so for ever.
  absl::Status Select(const SelectorInput& input, const ThresholdRule& rule,
                      Selected* selected, CompressionStats* stats);

  // Keeps the k largest of what Select has selected, if it has more, for the
  // reason `why`.
  absl::Status Trim(const SelectorInput& input, int64_t k, const char* why,
                    Selected* selected, CompressionStats* stats);

 private:
  absl::Status RunOnDevice(const DeviceThresholdRequest& request);
  absl::Status Search(const SelectorInput& input, const ThresholdRule& rule,
                      float* threshold);

  SparseKernels* const kernels_;  // Not owned.
  const std::unique_ptr<Sieve> sieve_;
  const float* formed_ = nullptr;  // What sieve_ looks at.
  ExactTopK top_k_;
  std::unique_ptr<DeviceThreshold> device_;  // Once it is used.
  DeviceThresholdResult on_device_;
  // Of which *on_device_ is the result, and not asked for yet.
  const float* found_ = nullptr;
  // What the device's next threshold will probably not be below; infinity if
  // there was none before.
  float guess_ = std::numeric_limits<float>::infinity();
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_THRESHOLD_SIEVE_H_
