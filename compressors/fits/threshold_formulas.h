// Computes thresholds from distributions ("laws") fitted to the magnitudes, as
// pure functions of a few sums, for host and device. Abdelmoniem et al., "An
// Efficient Statistical-based Gradient Compression Technique for Distributed
// Training Systems", MLSys 2021.
#ifndef COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_
#define COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/fits/quantiles.h"

namespace ps {

// Statistics of the positive numbers that a distribution is fitted to.
struct TailSample {
  double mean = 0;
  double variance = 0;  // The population variance: divided by n.
  double mean_log = 0;  // Set only if TailFits::MagnitudesNeedLogs.
};

PS_HOST_DEVICE inline TailSample TailSampleOf(int64_t count, double sum,
                                              double sum_squares) {
  TailSample sample;
  const double n = static_cast<double>(count);
  sample.mean = sum / n;
  // Rounding may make a variance of almost 0 negative.
  const double variance = sum_squares / n - sample.mean * sample.mean;
  sample.variance = variance > 0 ? variance : 0.0;
  return sample;
}

// Magnitudes count as constant if (standard deviation / mean)^2 is at most
// this. The gamma distribution's s is half of that square then.
constexpr double kConstantMagnitudes = 1e-12;

// Returns mean x ln(1 / density), the threshold for survival exp(-x / mean).
PS_DEVICE_CALL inline double ExponentialThreshold(double mean, double density) {
  return -mean * std::log(density);
}

// Computes the threshold for the survival (1 + xi x / sigma)^(-1 / xi), fitted
// by its first two moments: mean = sigma / (1 - xi) and mean^2 / variance = 1 -
// 2 xi. Returns false if the sample is so nearly constant that a fit would only
// reflect rounding.
PS_DEVICE_CALL inline bool ParetoThreshold(const TailSample& sample,
                                           double density, double* threshold) {
  const double mean_squared = sample.mean * sample.mean;
  if (sample.variance <= kConstantMagnitudes * mean_squared) return false;
  const double rho = mean_squared / sample.variance;
  const double xi = (1 - rho) / 2;
  const double sigma = sample.mean * (1 + rho) / 2;
  const double exponent = -xi * std::log(density);
  // As xi tends to 0, the distribution becomes exponential.
  *threshold = std::fabs(exponent) < 1e-9 ? -sigma * std::log(density)
                                          : sigma * std::expm1(exponent) / xi;
  return true;
}

// Estimates the gamma distribution's shape by the usual closed-form
// approximation of its maximum likelihood estimate, within 1.5 % of it. Returns
// false if the sample is nearly constant.
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

// Uses Gamma(shape, x) <= e^-x for shape <= 1 and x >= 1, with equality for
// shape 1: solves the bound for x instead of the function.
template <typename Solve>
PS_HOST_DEVICE bool ClosedGammaThreshold(const TailSample& sample,
                                         double density, const Solve& solve,
                                         double* threshold) {
  double shape = 0;
  if (!GammaShape(sample, &shape)) return false;
  const double x = -std::log(density) - LogGamma(shape);
  // For a small shape the bound's solution is not positive, and useless.
  if (x <= 0) return GammaThreshold(sample, density, solve, threshold);
  *threshold = sample.mean / shape * x;
  return true;
}

// The distributions fitted to magnitudes and to exceedances over a threshold.
enum class TailLaw {
  // SIDCo-E: an exponential distribution, which the exceedances follow, too.
  kExponential,
  // SIDCo-P: the exceedances of a generalized Pareto distribution follow
  // another one, and those of most distributions tend to one (Pickands,
  // Balkema, de Haan).
  kPareto,
  // SIDCo-GP: a gamma distribution, then generalized Pareto ones. The quantile
  // of the gamma distribution is exact in the first; the second uses the
  // paper's closed form, an upper bound for shapes below 1.
  kGammaPareto,
  kClosedGammaPareto,
};

// Fits distributions. Each fit sets the number that a fraction `density` in (0,
// 1] of the fitted distribution exceeds. It returns false if the sample is so
// nearly constant that a fit would only reflect rounding.
struct TailFits {
  TailLaw law = TailLaw::kExponential;

  // Whether Magnitudes uses TailSample.mean_log.
  PS_HOST_DEVICE bool MagnitudesNeedLogs() const {
    return law == TailLaw::kGammaPareto || law == TailLaw::kClosedGammaPareto;
  }

  bool Magnitudes(const TailSample& sample, double density,
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

// Returns the largest float that is at most x, for x at least 0: a magnitude,
// being a float, exceeds it if and only if it exceeds x.
PS_HOST_DEVICE inline float FloatAtMost(double x) {
  if (x >= FLT_MAX) return FLT_MAX;
  const float nearest = static_cast<float>(x);
  return nearest > x ? ::nextafterf(nearest, 0.0f) : nearest;
}

}  // namespace ps

#endif  // COMPRESSORS_FITS_THRESHOLD_FORMULAS_H_
