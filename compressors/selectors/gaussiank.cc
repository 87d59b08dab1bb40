// GaussianKSGD: the threshold of a normal law, followed by a few corrections
// (Shi, Chu, Cheung, See, "Understanding Top-k Sparsification in Distributed
// Deep Learning", arXiv 1911.08772, and the authors' code). The law and the
// corrections are in threshold_search.h.
#include <memory>

#include "compressors/fits/quantiles.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

class GaussiankSelector final : public Selector {
 public:
  explicit GaussiankSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()), sieve_(&options.backend->sparse()) {
    const GaussiankConfig& config = options.config.gaussiank();
    rule_.kind = ThresholdRule::Kind::kNormal;
    rule_.evaluations = config.evaluations();
    // The value that a fraction `ratio` of a normal law exceeds, counting both
    // sides. The law is fitted to the elements or, in SIDCo's version, to their
    // magnitudes, for which two sides make no sense.
    rule_.quantile = NormalUpperQuantile(ratio_ / 2);
    rule_.of_signed = config.statistics() == GaussiankConfig::SIGNED;
  }

  absl::Status AddAndMeasure(SparseKernels* kernels, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    const int64_t k = TargetCount(ratio_, n);
    // This includes n = 1, for which there is no variance.
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
    return sieve_.Select(input, Rule(k), selected, stats);
  }

 private:
  ThresholdRule Rule(int64_t k) const {
    ThresholdRule rule = rule_;
    rule.k = k;
    return rule;
  }

  const double ratio_;
  ThresholdRule rule_;  // All but its k.
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewGaussiank(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<GaussiankSelector>(options));
}

REGISTER_COMPRESSOR("gaussiank", NewGaussiank);

}  // namespace
}  // namespace ps
