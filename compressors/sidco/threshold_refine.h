// Corrects an estimated threshold by counting what exceeds it.
//
// A departure from SIDCo's paper, which trusts its last fit: there the sums of
// the exceedances over the last threshold are never looked at. A count there,
// among the few elements that the stages have left, costs next to nothing.
#ifndef COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_
#define COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_

#include "absl/status/statusor.h"
#include "compressors/sidco/refine_steps.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Tries the estimate; then, while no threshold is known to be too high, what
// the exponential law of the exceedances says, and from then on where the
// straight line of ln(count) between the nearest thresholds on both sides meets
// the target (regula falsi, Illinois variant: Dowell and Jarratt, BIT 11,
// 1971).
absl::StatusOr<RefinedThreshold> RefineThreshold(const RefineRequest& request,
                                                 Sieve* sieve);

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_
