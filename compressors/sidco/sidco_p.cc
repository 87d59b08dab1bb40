// SIDCo-P: fits generalized Pareto distributions to magnitudes and exceedances.
#include <memory>

#include "compressors/fits/threshold_formulas.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/sidco/sidco_options.h"
#include "compressors/sidco/sidco_selector.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Compressor>> NewSidcoP(
    const CompressorOptions& options) {
  return NewSparsifier(
      options, NewSidcoSelector(ResolveSidcoOptions(options.config),
                                TailLaw::kPareto, &options.backend->sparse()));
}

REGISTER_COMPRESSOR(
    "sidco_p",
    "elements above a threshold of generalized Pareto laws; for heavy tails",
    NewSidcoP);

}  // namespace
}  // namespace ps
