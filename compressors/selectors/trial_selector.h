// Selects the elements above a threshold that is found by trials, with the
// rules of RedSync and GaussianKSGD.
#ifndef COMPRESSORS_SELECTORS_TRIAL_SELECTOR_H_
#define COMPRESSORS_SELECTORS_TRIAL_SELECTOR_H_

#include <memory>

#include "compressors/selectors/selector.h"
#include "compressors/selectors/threshold_search.h"

namespace ps {

// Creates the selector. It ignores rule.k: the target takes its place. With
// exact_tail, it selects at most the target; the fallback is "tail" if that
// drops elements. `kernels` is not owned and must outlive the selector.
std::unique_ptr<Selector> NewTrialSelector(const ThresholdRule& rule,
                                           bool exact_tail,
                                           SparseKernels* kernels);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_TRIAL_SELECTOR_H_
