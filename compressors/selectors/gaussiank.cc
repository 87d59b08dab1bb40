// GaussianKSGD: the threshold of a normal law, followed by a few corrections
// (Shi, Chu, Cheung, See, "Understanding Top-k Sparsification in Distributed
// Deep Learning", arXiv 1911.08772, and the authors' code). The law and the
// corrections are in threshold_search.h.
#include <memory>

#include "compressors/fits/quantiles.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/trial_selector.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Compressor>> NewGaussiank(
    const CompressorOptions& options) {
  const GaussiankConfig& config = options.config.gaussiank();
  ThresholdRule rule;
  rule.kind = ThresholdRule::Kind::kNormal;
  rule.evaluations = config.evaluations();
  // The value that a fraction `ratio` of a normal law exceeds, counting both
  // sides. The law is fitted to the elements or, in SIDCo's version, to their
  // magnitudes, for which two sides make no sense.
  rule.quantile = NormalUpperQuantile(options.config.ratio() / 2);
  rule.of_signed = config.statistics() == GaussiankConfig::SIGNED;
  return NewSparsifier(options, NewTrialSelector(rule, /*exact_tail=*/false,
                                                 &options.backend->sparse()));
}

REGISTER_COMPRESSOR("gaussiank", "elements above a threshold of a normal law",
                    NewGaussiank);

}  // namespace
}  // namespace ps
