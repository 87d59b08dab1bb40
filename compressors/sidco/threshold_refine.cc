#include "compressors/sidco/threshold_refine.h"

#include "common/status_macros.h"

namespace ps {

absl::StatusOr<RefinedThreshold> RefineThreshold(const RefineRequest& request,
                                                 Sieve* sieve) {
  RefineSteps steps;
  for (steps.Start(request); !steps.done();) {
    Exceedances exceedances;
    PS_RETURN_IF_ERROR(sieve->MeasureAbove(steps.threshold(),
                                           steps.keep_above(), &exceedances));
    steps.Next(exceedances);
  }
  return steps.result();
}

}  // namespace ps
