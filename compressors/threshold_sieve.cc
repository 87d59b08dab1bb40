#include "compressors/threshold_sieve.h"

#include <algorithm>

#include "common/status_macros.h"
#include "compressors/threshold_fit.h"

namespace ps {
namespace {

float AsMagnitude(double threshold) {
  return FloatAtMost(std::max(0.0, threshold));
}

}  // namespace

ThresholdSieve::ThresholdSieve(SparseKernels* kernels)
    : sieve_(kernels->NewSieve()), top_k_(kernels) {}

void ThresholdSieve::Reset(const SelectorInput& input) {
  input_ = input;
  sieve_->Reset(input.u, input.n);
}

absl::StatusOr<int64_t> ThresholdSieve::CountAbove(double threshold) {
  const float location = AsMagnitude(threshold);
  Exceedances exceedances;
  PS_RETURN_IF_ERROR(sieve_->MeasureAbove(location, location, &exceedances));
  return exceedances.count;
}

absl::Status ThresholdSieve::Select(double threshold, Selection* elements,
                                    CompressionStats* stats) {
  const float location = AsMagnitude(threshold);
  PS_RETURN_IF_ERROR(sieve_->SelectAbove(location, elements));
  stats->threshold = location;
  stats->raw_count = elements->size();
  if (stats->raw_count > 0 || input_.moments.num_nonzero == 0) {
    return absl::OkStatus();
  }
  stats->fallback = "empty";
  PS_RETURN_IF_ERROR(top_k_.Select(
      input_.u, input_.n,
      std::min(stats->target_count, input_.moments.num_nonzero), elements));
  stats->threshold = SmallestMagnitude(*elements);
  return absl::OkStatus();
}

void ThresholdSieve::Trim(int64_t k, const char* why, Selection* elements,
                          CompressionStats* stats) {
  if (elements->size() <= k) return;
  stats->fallback = why;
  TrimToTopK(k, elements);
  stats->threshold = SmallestMagnitude(*elements);
}

}  // namespace ps
