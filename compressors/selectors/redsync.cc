// RedSync: finds a threshold between the mean and the largest magnitude by
// trial (Fang, Fu, Yang, Hsieh, "RedSync: Reducing synchronization bandwidth
// for distributed deep learning training system", arXiv 1808.04357). The trials
// are in threshold_search.h.
#include <memory>

#include "common/status_macros.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

class RedsyncSelector final : public Selector {
 public:
  explicit RedsyncSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()),
        exact_tail_(options.config.redsync().exact_tail()),
        sieve_(&options.backend->sparse()) {
    const RedsyncConfig& config = options.config.redsync();
    rule_.kind = config.search() == RedsyncConfig::TRIMMED
                     ? ThresholdRule::Kind::kDescent
                     : ThresholdRule::Kind::kBisection;
    rule_.step = config.step();
    rule_.fixed_step = config.fixed_step();
  }

  absl::Status AddAndMeasure(SparseKernels* kernels, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    const int64_t k = TargetCount(ratio_, n);
    if (k == n) {
      return kernels->AddAndMeasure(residual, gradient, n, out, moments);
    }
    return sieve_.AddAndMeasure(residual, gradient, n, {Rule(k), {}, k}, out,
                                moments);
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = stats->target_count;
    if (k == input.n) {
      selected->all = true;
      stats->raw_count = k;
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(sieve_.Select(input, Rule(k), selected, stats));
    if (!exact_tail_) return absl::OkStatus();
    return sieve_.Trim(input, k, "tail", selected, stats);
  }

 private:
  ThresholdRule Rule(int64_t k) const {
    ThresholdRule rule = rule_;
    rule.k = k;
    return rule;
  }

  const double ratio_;
  const bool exact_tail_;
  ThresholdRule rule_;  // All but its k.
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRedsync(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RedsyncSelector>(options));
}

REGISTER_COMPRESSOR("redsync", NewRedsync);

}  // namespace
}  // namespace ps
