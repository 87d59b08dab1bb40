#include "compressors/threshold_fit.h"

#include <cmath>
#include <limits>

#include "compressors/quantiles.h"

namespace ps {
namespace {

// Magnitudes are constant if (standard deviation / mean)^2 is no more than
// this. The gamma law's s is half of that square then.
constexpr double kConstant = 1e-12;

std::optional<double> FitExponential(const TailSample& sample, double density) {
  return ExponentialThreshold(sample.mean, density);
}

// Survival (1 + xi x / sigma)^(-1 / xi), by its first two moments:
// mean = sigma / (1 - xi) and mean^2 / variance = 1 - 2 xi.
std::optional<double> FitPareto(const TailSample& sample, double density) {
  const double mean_squared = sample.mean * sample.mean;
  if (sample.variance <= kConstant * mean_squared) return std::nullopt;
  const double rho = mean_squared / sample.variance;
  const double xi = (1 - rho) / 2;
  const double sigma = sample.mean * (1 + rho) / 2;
  const double exponent = -xi * std::log(density);
  // Next to shape 0 the law is exponential.
  if (std::abs(exponent) < 1e-9) return -sigma * std::log(density);
  return sigma * std::expm1(exponent) / xi;
}

// The shape by the usual closed-form approximation of its maximum likelihood
// estimate, within 1.5 % of it. None if the sample is nearly constant.
std::optional<double> GammaShape(const TailSample& sample) {
  const double s = std::log(sample.mean) - sample.mean_log;
  if (s <= kConstant) return std::nullopt;
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

double ExponentialThreshold(double mean, double density) {
  return -mean * std::log(density);
}

const TailFamily kExponentialFamily = {FitExponential, FitExponential, false};
const TailFamily kParetoFamily = {FitPareto, FitPareto, false};
const TailFamily kGammaParetoExactFamily = {FitGammaExact, FitPareto, true};
const TailFamily kGammaParetoClosedFamily = {FitGammaClosed, FitPareto, true};

float FloatAtMost(double x) {
  constexpr float kMax = std::numeric_limits<float>::max();
  if (x >= kMax) return kMax;
  const float nearest = static_cast<float>(x);
  return nearest > x ? std::nextafter(nearest, 0.0f) : nearest;
}

}  // namespace ps
