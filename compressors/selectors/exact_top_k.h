// Selects exactly the k largest magnitudes; among equal ones, those with the
// lower index.
#ifndef COMPRESSORS_SELECTORS_EXACT_TOP_K_H_
#define COMPRESSORS_SELECTORS_EXACT_TOP_K_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/status.h"
#include "compressors/cuda/device_search.h"
#include "compressors/selectors/selector.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Selects without sorting: the vector is read two or three times, or not at all
// if SelectOfSum forms it and it resembles the vector before it. Memory is
// proportional to k. Not thread-safe.
class ExactTopK {
 public:
  // `kernels` is not owned and must outlive this object.
  explicit ExactTopK(SparseKernels* kernels);

  // Implements Selector::Select, for input.target_count elements. In the pass
  // that forms the sum, the elements that are likely to be selected are kept
  // aside, or the device selects them.
  absl::Status SelectOfSum(const SelectorInput& input, Selected* selected,
                           CompressionStats* stats);

  // Replaces `selection` with the k largest of u, in ascending order of index.
  // k: at most n. All elements must be finite.
  absl::Status Select(const float* u, int64_t n, int64_t k,
                      Selection* selection);

  // Like the above, with k at least 0: the selection stays on the device if the
  // kernels have one. *threshold becomes the smallest selected magnitude, or 0
  // if there is none.
  absl::Status Select(const float* u, int64_t n, int64_t k, Selected* selected,
                      double* threshold);

  // Trims `selected`, the elements of u above some threshold, to the k largest,
  // and sets *threshold as above. If there are no more than k, leaves
  // *threshold unchanged.
  absl::Status Trim(const float* u, int64_t n, int64_t k, Selected* selected,
                    double* threshold);

 private:
  // Runs on the device if the kernels have one.
  absl::Status RunOnDevice(const DeviceTopKRequest& request);
  // Stores the device's selection in *selected.
  void TakeFromDevice(Selected* selected, double* threshold);
  // Guesses a threshold for the next sum from the smallest selected magnitude
  // of this one.
  void GuessFrom(double smallest);
  // Selects from u, which sieve_ must be reset to.
  absl::Status Search(const float* u, int64_t n, int64_t k,
                      Selection* selection);
  // Selects by a threshold. Sets *found if at least k exceed it.
  absl::Status SelectByGuess(float threshold, int64_t k, Selection* selection,
                             bool* found);
  // Selects by counting magnitudes in bins.
  absl::Status SelectByBins(const float* u, int64_t n, int64_t k,
                            Selection* selection);

  SparseKernels* const kernels_;
  const std::unique_ptr<Sieve> sieve_;
  std::unique_ptr<DeviceSearch<DeviceTopKRequest>>
      device_;  // Created on first use.
  DeviceResult on_device_;
  // A threshold that slightly more than k elements of the last sum exceeded;
  // infinity if there was none.
  float guess_ = std::numeric_limits<float>::infinity();
};

// Keeps the k largest of `selection`, or all if it has no more than k.
void TrimToTopK(int64_t k, Selection* selection);

// Returns the number of elements, out of n, to allocate in device memory if
// about k are selected. It is more than k, since several times as many may
// exceed a threshold.
int64_t DeviceSelectionCapacity(int64_t n, int64_t k);

// Returns the smallest magnitude; 0 if the selection is empty.
float SmallestMagnitude(const Selection& selection);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_EXACT_TOP_K_H_
