#include "compressors/selectors/selector.h"

#include "common/status_macros.h"

namespace ps {

absl::Status SelectEverything(const SelectorInput& input,
                              SparseKernels* kernels, Selected* selected,
                              CompressionStats* stats) {
  Moments moments;
  PS_RETURN_IF_ERROR(kernels->AddAndMeasure(input.residual, input.gradient,
                                            input.n, input.u, &moments));
  stats->non_finite = moments.num_non_finite > 0;
  if (stats->non_finite) return absl::OkStatus();
  selected->all = true;
  stats->raw_count = input.n;
  return absl::OkStatus();
}

}  // namespace ps
