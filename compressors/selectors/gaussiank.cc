// GaussianKSGD: the threshold of a normal distribution, followed by a few
// corrections (Shi, Chu, Cheung, See, "Understanding Top-k Sparsification in
// Distributed Deep Learning", arXiv 1911.08772, and the authors' code).
// threshold_search.h has both.
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
  // The value that a fraction `ratio` of a normal distribution exceeds,
  // counting both sides. It is fitted to the elements or, in SIDCo's version,
  // to their magnitudes, for which two sides make no sense.
  rule.quantile = NormalUpperQuantile(options.config.ratio() / 2);
  rule.of_signed = config.statistics() == GaussiankConfig::SIGNED;
  return NewSparsifier(options, NewTrialSelector(rule, /*exact_tail=*/false,
                                                 &options.backend->sparse()));
}

REGISTER_COMPRESSOR("gaussiank", "elements above a threshold of a normal law",
                    NewGaussiank);

}  // namespace
}  // namespace ps
