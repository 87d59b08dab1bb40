// What the threshold baselines share: counts above trial thresholds, and the
// selection above the one that is left.
#ifndef COMPRESSORS_THRESHOLD_SIEVE_H_
#define COMPRESSORS_THRESHOLD_SIEVE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/exact_top_k.h"
#include "compressors/selector.h"

namespace ps {

// Thresholds below 0 count as 0. Not thread-safe.
class ThresholdSieve {
 public:
  // `kernels` is not owned and outlives this.
  explicit ThresholdSieve(SparseKernels* kernels);

  // From now on: this vector.
  void Reset(const SelectorInput& input);

  // How many magnitudes exceed `threshold`.
  absl::StatusOr<int64_t> CountAbove(double threshold);

  // Selects those elements, and sets the threshold and raw_count of *stats. If
  // there are none: exact top-k of the non-zeros, fallback "empty". The
  // baselines' codes send nothing then, and may do so for ever.
  absl::Status Select(double threshold, Selection* elements,
                      CompressionStats* stats);

  // Keeps the k largest, for the reason `why`.
  static void Trim(int64_t k, const char* why, Selection* elements,
                   CompressionStats* stats);

 private:
  SelectorInput input_;
  const std::unique_ptr<Sieve> sieve_;
  ExactTopK top_k_;
};

}  // namespace ps

#endif  // COMPRESSORS_THRESHOLD_SIEVE_H_
