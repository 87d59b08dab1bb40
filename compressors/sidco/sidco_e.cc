// SIDCo-E: fits exponential distributions to magnitudes and exceedances.
#include <memory>

#include "compressors/fits/threshold_formulas.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/sidco/sidco_options.h"
#include "compressors/sidco/sidco_selector.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Compressor>> NewSidcoE(
    const CompressorOptions& options) {
  return NewSparsifier(
      options,
      NewSidcoSelector(ResolveSidcoOptions(options.config),
                       TailLaw::kExponential, &options.backend->sparse()));
}

REGISTER_COMPRESSOR(
    "sidco_e",
    "elements above a threshold of exponential laws; the usual choice",
    NewSidcoE);

}  // namespace
}  // namespace ps
