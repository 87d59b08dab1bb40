// Selects by SIDCo: an estimated threshold, a controller of the number of
// stages, and fallbacks where an estimate makes no sense.
#ifndef COMPRESSORS_SIDCO_SIDCO_SELECTOR_H_
#define COMPRESSORS_SIDCO_SIDCO_SELECTOR_H_

#include <memory>

#include "compressors/fits/threshold_formulas.h"
#include "compressors/selectors/selector.h"
#include "compressors/sidco/sidco_options.h"

namespace ps {

// CompressionStats.fallback is one of
//   "zero"      every element is zero: nothing is sent;
//   "small"     shorter than exact_below: exact top-k;
//   "constant"  all magnitudes are equal, or too nearly so for a fit: exact
//               top-k;
//   "sparse"    no more non-zeros than the target: all of them;
//   "empty"     nothing exceeds the estimate: exact top-k;
//   "spike"     refined, the estimate is still off by more than a factor of 8:
//               exact top-k;
//   "few"       too little was left for another stage, or all but equal: exact
//               top-k of that;
//   "cap"       more than the overshoot cap allows: exact top-k of those.
// `kernels` is not owned and outlives the selector.
std::unique_ptr<Selector> NewSidcoSelector(const SidcoOptions& options,
                                           TailLaw law, SparseKernels* kernels);

}  // namespace ps

#endif  // COMPRESSORS_SIDCO_SIDCO_SELECTOR_H_
