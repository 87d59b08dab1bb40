// SIDCo-GP: fits a gamma distribution to magnitudes and generalized Pareto
// distributions to exceedances.
#include <memory>

#include "compressors/fits/threshold_formulas.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/sidco/sidco_options.h"
#include "compressors/sidco/sidco_selector.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Compressor>> NewSidcoGp(
    const CompressorOptions& options) {
  const SidcoOptions sidco = ResolveSidcoOptions(options.config);
  return NewSparsifier(
      options,
      NewSidcoSelector(sidco,
                       sidco.exact_gamma_inverse ? TailLaw::kGammaPareto
                                                 : TailLaw::kClosedGammaPareto,
                       &options.backend->sparse()));
}

REGISTER_COMPRESSOR(
    "sidco_gp", "elements above a threshold of a gamma law, then Pareto laws",
    NewSidcoGp);

}  // namespace
}  // namespace ps
