// Corrects an estimated threshold by counting what exceeds it.
//
// This departs from SIDCo's paper, which trusts its last fit and never looks at
// the exceedances over the last threshold. A count there, among the few
// elements that the stages have left, costs next to nothing.
#ifndef COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_
#define COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_

#include "absl/status/statusor.h"
#include "compressors/sidco/refine_steps.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Tries the estimate first. While no threshold is known to be too high, the
// next one follows from the exponential law of the exceedances; after that it
// is where the straight line of ln(count) between the nearest thresholds on
// both sides meets the target (regula falsi, Illinois variant: Dowell and
// Jarratt, BIT 11, 1971).
absl::StatusOr<RefinedThreshold> RefineThreshold(const RefineRequest& request,
                                                 Sieve* sieve);

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_THRESHOLD_REFINE_H_
