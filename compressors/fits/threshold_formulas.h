// Thresholds from distributions ("laws") fitted to the magnitudes, for host and
// device: pure functions of a few sums. Abdelmoniem et al., "An Efficient
// Statistical-based Gradient Compression Technique for Distributed Training
// Systems", MLSys 2021.
#ifndef COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_
#define COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/fits/quantiles.h"

namespace ps {

// Statistics of the positive numbers that a law is fitted to.
struct TailSample {
  double mean = 0;
  double variance = 0;  // Population: divided by n.
  double mean_log = 0;  // Only where TailFits::MagnitudesNeedLogs.
};

PS_HOST_DEVICE inline TailSample TailSampleOf(int64_t count, double sum,
                                              double sum_squares) {
  TailSample sample;
  const double n = static_cast<double>(count);
  sample.mean = sum / n;
  // Rounding may bring a variance of almost 0 below it.
  const double variance = sum_squares / n - sample.mean * sample.mean;
  sample.variance = variance > 0 ? variance : 0.0;
  return sample;
}

// Magnitudes are constant if (standard deviation / mean)^2 is no more than
// this. The gamma law's s is half of that square then.
constexpr double kConstantMagnitudes = 1e-12;

// Survival exp(-x / mean): the threshold is mean x ln(1 / density).
PS_DEVICE_CALL inline double ExponentialThreshold(double mean, double density) {
  return -mean * std::log(density);
}

// Survival (1 + xi x / sigma)^(-1 / xi), by its first two moments: mean = sigma
// / (1 - xi) and mean^2 / variance = 1 - 2 xi. False if the sample is so nearly
// constant that a fit would only reflect rounding.
PS_DEVICE_CALL inline bool ParetoThreshold(const TailSample& sample,
                                           double density, double* threshold) {
  const double mean_squared = sample.mean * sample.mean;
  if (sample.variance <= kConstantMagnitudes * mean_squared) return false;
  const double rho = mean_squared / sample.variance;
  const double xi = (1 - rho) / 2;
  const double sigma = sample.mean * (1 + rho) / 2;
  const double exponent = -xi * std::log(density);
  // As xi tends to 0, the law becomes exponential.
  *threshold = std::fabs(exponent) < 1e-9 ? -sigma * std::log(density)
                                          : sigma * std::expm1(exponent) / xi;
  return true;
}

// The gamma law's shape by the usual closed-form approximation of its maximum
// likelihood estimate, within 1.5 % of it. False if the sample is nearly
// constant.
PS_HOST_DEVICE inline bool GammaShape(const TailSample& sample, double* shape) {
  const double s = std::log(sample.mean) - sample.mean_log;
  if (s <= kConstantMagnitudes) return false;
  *shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  return true;
}

// `solve`: see GammaUpperQuantile.
template <typename Solve>
PS_HOST_DEVICE bool GammaThreshold(const TailSample& sample, double density,
                                   const Solve& solve, double* threshold) {
  double shape = 0;
  if (!GammaShape(sample, &shape)) return false;
  *threshold = sample.mean / shape * GammaUpperQuantile(shape, density, solve);
  return true;
}

// Gamma(shape, x) <= e^-x for shape <= 1 and x >= 1, with equality for shape 1:
// the bound is solved for x instead of the function.
template <typename Solve>
PS_HOST_DEVICE bool ClosedGammaThreshold(const TailSample& sample,
                                         double density, const Solve& solve,
                                         double* threshold) {
  double shape = 0;
  if (!GammaShape(sample, &shape)) return false;
  const double x = -std::log(density) - LogGamma(shape);
  // For a small shape the solution is not positive, and useless.
  if (x <= 0) return GammaThreshold(sample, density, solve, threshold);
  *threshold = sample.mean / shape * x;
  return true;
}

// The laws fitted to all magnitudes and to the exceedances over a threshold.
enum class TailLaw {
  // SIDCo-E. The exceedances of an exponential law follow the same law.
  kExponential,
  // SIDCo-P. The exceedances of a generalized Pareto law follow another
  // generalized Pareto law, and those of most laws tend to one (Pickands,
  // Balkema, de Haan).
  kPareto,
  // SIDCo-GP: a gamma law, then generalized Pareto laws. The quantile of the
  // gamma law is exact in the first; the second uses the paper's closed form,
  // an upper bound for shapes below 1.
  kGammaPareto,
  kClosedGammaPareto,
};

// Each fit sets the number that a fraction `density` in (0, 1] of the fitted
// law exceeds. False if the sample is so nearly constant that a fit would only
// reflect rounding.
struct TailFits {
  TailLaw law = TailLaw::kExponential;

  // Whether Magnitudes uses TailSample.mean_log.
  PS_HOST_DEVICE bool MagnitudesNeedLogs() const {
    return law == TailLaw::kGammaPareto || law == TailLaw::kClosedGammaPareto;
  }

  PS_HOST_DEVICE bool Magnitudes(const TailSample& sample, double density,
                                 double* threshold) const {
    return Magnitudes(sample, density, quantiles_internal::SolveSurvival(),
                      threshold);
  }

  // `solve`: see GammaUpperQuantile.
  template <typename Solve>
  PS_HOST_DEVICE bool Magnitudes(const TailSample& sample, double density,
                                 const Solve& solve, double* threshold) const {
    switch (law) {
      case TailLaw::kGammaPareto:
        return GammaThreshold(sample, density, solve, threshold);
      case TailLaw::kClosedGammaPareto:
        return ClosedGammaThreshold(sample, density, solve, threshold);
      case TailLaw::kExponential:
      case TailLaw::kPareto:
        break;
    }
    return Exceedances(sample, density, threshold);
  }

  PS_HOST_DEVICE bool Exceedances(const TailSample& sample, double density,
                                  double* threshold) const {
    if (law != TailLaw::kExponential) {
      return ParetoThreshold(sample, density, threshold);
    }
    *threshold = ExponentialThreshold(sample.mean, density);
    return true;
  }
};

// The largest float that is at most x, for x at least 0: a magnitude, being a
// float, exceeds it if and only if it exceeds x.
PS_HOST_DEVICE inline float FloatAtMost(double x) {
  if (x >= FLT_MAX) return FLT_MAX;
  const float nearest = static_cast<float>(x);
  return nearest > x ? ::nextafterf(nearest, 0.0f) : nearest;
}

}  // namespace ps

#endif  // COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_
