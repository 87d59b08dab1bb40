// The k largest magnitudes, exactly; of equal ones those with the lower index.
#ifndef COMPRESSORS_SELECTORS_EXACT_TOP_K_H_
#define COMPRESSORS_SELECTORS_EXACT_TOP_K_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "compressors/cuda/device_top_k.h"
#include "compressors/selectors/selector.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Finds them without sorting: the vector is read two or three times, or not at
// all if it was formed by AddAndMeasure and is like the one before it. Memory
// is proportional to k. Not thread-safe.
class ExactTopK {
 public:
  // `kernels` is not owned and outlives this.
  explicit ExactTopK(SparseKernels* kernels);

  // As SparseKernels::AddAndMeasure, without the moments' sums. Keeps aside
  // what is likely to be among the `k` largest, or finds them on the device,
  // for the next Select of `out` with this k: that shows in the time that it
  // takes, never in a result.
  absl::Status AddAndMeasure(const float* residual, const float* gradient,
                             int64_t n, int64_t k, float* out,
                             Moments* moments);

  // Replaces `selection` by the k largest of u, in ascending order of index.
  // k: at most n. All elements are finite.
  absl::Status Select(const float* u, int64_t n, int64_t k,
                      Selection* selection);

  // The same, k at least 0, for a compressor: left on the device where the
  // kernels have one. *threshold is the smallest magnitude, 0 if there is none.
  absl::Status Select(const float* u, int64_t n, int64_t k, Selected* selected,
                      double* threshold);

  // Of what exceeds some threshold in u, `selected`, keeps the k largest, if it
  // has more. Then *threshold is as above; else it stays.
  absl::Status Trim(const float* u, int64_t n, int64_t k, Selected* selected,
                    double* threshold);

 private:
  // On the device, if the kernels have one.
  absl::Status RunOnDevice(const DeviceTopKRequest& request);
  // For the next vector, from the smallest magnitude of this one's largest.
  void GuessFrom(float smallest);
  // Sets *found if at least k exceed `threshold`.
  absl::Status SelectByGuess(float threshold, int64_t k, Selection* selection,
                             bool* found);
  // By counting.
  absl::Status SelectByBins(const float* u, int64_t n, int64_t k,
                            Selection* selection);

  SparseKernels* const kernels_;
  const std::unique_ptr<Sieve> sieve_;
  const float* formed_ = nullptr;  // By AddAndMeasure, and not selected from.
  std::unique_ptr<DeviceTopK> device_;  // Once it is used.
  DeviceTopKResult on_device_;
  // Of which *on_device_ is the result, and not asked for yet.
  const float* formed_on_device_ = nullptr;
  // A threshold that a few more than k exceeded the last time; infinity if
  // there was none.
  float guess_ = std::numeric_limits<float>::infinity();
};

// Keeps the k largest of `selection` (all, if it has no more).
void TrimToTopK(int64_t k, Selection* selection);

// How many of n elements have room in the memory of a device where about k are
// selected: what exceeds a threshold may be several times as many.
int64_t DeviceSelectionCapacity(int64_t n, int64_t k);

// The smallest magnitude; 0 if there is none.
float SmallestMagnitude(const Selection& selection);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_EXACT_TOP_K_H_
