#include "compressors/threshold_fit.h"

#include <cmath>

#include "compressors/quantiles.h"

namespace ps {
namespace {

std::optional<double> FitExponential(const TailSample& sample, double density) {
  return ExponentialThreshold(sample.mean, density);
}

std::optional<double> FitPareto(const TailSample& sample, double density) {
  double threshold;
  if (!ParetoThreshold(sample, density, &threshold)) return std::nullopt;
  return threshold;
}

// The shape by the usual closed-form approximation of its maximum likelihood
// estimate, within 1.5 % of it. None if the sample is nearly constant.
std::optional<double> GammaShape(const TailSample& sample) {
  const double s = std::log(sample.mean) - sample.mean_log;
  if (s <= kConstantMagnitudes) return std::nullopt;
  return (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
}

std::optional<double> FitGammaExact(const TailSample& sample, double density) {
  const std::optional<double> shape = GammaShape(sample);
  if (!shape.has_value()) return std::nullopt;
  return sample.mean / *shape * GammaUpperQuantile(*shape, density);
}

// Gamma(shape, x) <= e^-x for shape <= 1 and x >= 1, with equality for shape 1:
// the bound is solved for x in place of the function.
std::optional<double> FitGammaClosed(const TailSample& sample, double density) {
  const std::optional<double> shape = GammaShape(sample);
  if (!shape.has_value()) return std::nullopt;
  const double x = -std::log(density) - LogGamma(*shape);
  // A small shape takes the bound below 0, where it says nothing.
  if (x <= 0) return FitGammaExact(sample, density);
  return sample.mean / *shape * x;
}

}  // namespace

const TailFamily kExponentialFamily = {FitExponential, FitExponential, false};
const TailFamily kParetoFamily = {FitPareto, FitPareto, false};
const TailFamily kGammaParetoExactFamily = {FitGammaExact, FitPareto, true};
const TailFamily kGammaParetoClosedFamily = {FitGammaClosed, FitPareto, true};

}  // namespace ps
