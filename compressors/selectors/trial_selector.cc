#include "compressors/selectors/trial_selector.h"

#include "common/status_macros.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

class TrialSelector final : public Selector {
 public:
  TrialSelector(const ThresholdRule& rule, bool exact_tail,
                SparseKernels* kernels)
      : rule_(rule),
        exact_tail_(exact_tail),
        kernels_(kernels),
        sieve_(kernels) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = input.target_count;
    // This includes n = 1, for which there is no variance.
    if (k == input.n) {
      return SelectEverything(input, kernels_, selected, stats);
    }
    rule_.k = k;
    PS_RETURN_IF_ERROR(sieve_.Form(input, {rule_, {}, k}, stats));
    if (stats->non_finite) return absl::OkStatus();
    PS_RETURN_IF_ERROR(sieve_.Select(rule_, selected, stats));
    if (!exact_tail_) return absl::OkStatus();
    return sieve_.Trim(k, "tail", selected, stats);
  }

 private:
  ThresholdRule rule_;
  const bool exact_tail_;
  SparseKernels* const kernels_;  // Not owned.
  ThresholdSieve sieve_;
};

}  // namespace

std::unique_ptr<Selector> NewTrialSelector(const ThresholdRule& rule,
                                           bool exact_tail,
                                           SparseKernels* kernels) {
  return std::make_unique<TrialSelector>(rule, exact_tail, kernels);
}

}  // namespace ps
