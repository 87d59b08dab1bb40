// GaussianKSGD: the threshold of a normal law, followed by a few corrections
// (Shi, Chu, Cheung, See, "Understanding Top-k Sparsification in Distributed
// Deep Learning", arXiv 1911.08772, and the authors' code). The law and the
// corrections are in threshold_search.h.
#include <memory>

#include "common/status_macros.h"
#include "compressors/fits/quantiles.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

class GaussiankSelector final : public Selector {
 public:
  explicit GaussiankSelector(const CompressorOptions& options)
      : kernels_(&options.backend->sparse()), sieve_(kernels_) {
    const GaussiankConfig& config = options.config.gaussiank();
    rule_.kind = ThresholdRule::Kind::kNormal;
    rule_.evaluations = config.evaluations();
    // The value that a fraction `ratio` of a normal law exceeds, counting both
    // sides. The law is fitted to the elements or, in SIDCo's version, to their
    // magnitudes, for which two sides make no sense.
    rule_.quantile = NormalUpperQuantile(options.config.ratio() / 2);
    rule_.of_signed = config.statistics() == GaussiankConfig::SIGNED;
  }

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
    return sieve_.Select(rule_, selected, stats);
  }

 private:
  SparseKernels* const kernels_;  // Not owned.
  ThresholdRule rule_;
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewGaussiank(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<GaussiankSelector>(options));
}

REGISTER_COMPRESSOR("gaussiank", NewGaussiank);

}  // namespace
}  // namespace ps
