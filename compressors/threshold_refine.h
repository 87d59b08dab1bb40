// Corrects an estimated threshold by counting what exceeds it.
//
// A departure from SIDCo's paper, which trusts its last fit: there the sums of
// the exceedances over the last threshold are never looked at. A count there,
// among the few elements that the stages have left, costs next to nothing.
#ifndef COMPRESSORS_THRESHOLD_REFINE_H_
#define COMPRESSORS_THRESHOLD_REFINE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "tensor/sparse_kernels.h"

namespace ps {

struct RefineRequest {
  // How many should exceed the threshold; above 0.
  double target = 0;
  // Ends where the count is within target x (1 +- tolerance), or next to it.
  double tolerance = 0.05;
  int max_counts = 1;  // Thresholds tried; at least 1.
  // A lower bound, and how many exceed it: more than `target`.
  float low = 0;
  int64_t low_count = 0;
  // The estimate, at least `low`.
  float threshold = 0;
  // A guess of the lowest threshold that will be tried: only for speed.
  float keep_above = 0;
};

struct RefinedThreshold {
  // Of those tried, the one whose count is nearest to the target by ratio.
  float threshold = 0;
  // How many exceed the estimate.
  int64_t estimated_count = 0;
  float lowest_tried = 0;
};

// Tries the estimate; then, while no threshold is known to be too high, what
// the exponential law of the exceedances says, and from then on where the
// straight line of ln(count) between the nearest thresholds on both sides meets
// the target (regula falsi, Illinois variant: Dowell and Jarratt, BIT 11,
// 1971).
absl::StatusOr<RefinedThreshold> RefineThreshold(const RefineRequest& request,
                                                 Sieve* sieve);

}  // namespace ps

#endif  // COMPRESSORS_THRESHOLD_REFINE_H_
