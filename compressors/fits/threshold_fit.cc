#include "compressors/fits/threshold_fit.h"

namespace ps {
namespace {

template <TailLaw law>
std::optional<double> FitMagnitudes(const TailSample& sample, double density) {
  double threshold = 0;
  if (!TailFits{law}.Magnitudes(sample, density, &threshold)) {
    return std::nullopt;
  }
  return threshold;
}

template <TailLaw law>
std::optional<double> FitExceedances(const TailSample& sample, double density) {
  double threshold = 0;
  if (!TailFits{law}.Exceedances(sample, density, &threshold)) {
    return std::nullopt;
  }
  return threshold;
}

template <TailLaw law>
constexpr TailFamily FamilyOf() {
  return {FitMagnitudes<law>, FitExceedances<law>, law};
}

}  // namespace

const TailFamily kExponentialFamily = FamilyOf<TailLaw::kExponential>();
const TailFamily kParetoFamily = FamilyOf<TailLaw::kPareto>();
const TailFamily kGammaParetoExactFamily = FamilyOf<TailLaw::kGammaPareto>();
const TailFamily kGammaParetoClosedFamily =
    FamilyOf<TailLaw::kClosedGammaPareto>();

}  // namespace ps
