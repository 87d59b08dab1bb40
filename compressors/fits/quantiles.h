// Computes upper quantiles of two distributions: the number that a draw exceeds
// with a given probability. For host and device.
#ifndef COMPRESSORS_FITS_QUANTILES_H_
#define COMPRESSORS_FITS_QUANTILES_H_

#include <math.h>  // lgamma_r.

#include <cmath>

#include "common/host_device.h"

namespace ps {
namespace quantiles_internal {

constexpr double kPrecision = 1e-13;

// Bisection of an interval until it has almost no length.
struct Bisection {
  double low = 0;
  double high = 0;
  int steps = 0;

  // The limit matters when the solution is close to 0.
  PS_HOST_DEVICE bool done() const {
    return steps >= 200 || !(high - low > kPrecision * high);
  }
  PS_HOST_DEVICE double middle() const { return low + (high - low) / 2; }
  PS_HOST_DEVICE void Halve(bool upper) {
    (upper ? low : high) = middle();
    ++steps;
  }
};

// Returns the x >= 0 where `survival`, a decreasing function, reaches p.
// `high`: above 0, a guess of a larger x.
struct SolveSurvival {
  template <typename Survival>
  PS_HOST_DEVICE double operator()(const Survival& survival, double p,
                                   double high) const {
    while (survival(high) > p) high *= 2;
    Bisection bisection;
    bisection.high = high;
    while (!bisection.done()) {
      bisection.Halve(survival(bisection.middle()) > p);
    }
    return bisection.high;
  }
};

}  // namespace quantiles_internal

// Returns ln Gamma(x) for x above 0. Unlike std::lgamma, it does not write a
// global variable.
PS_HOST_DEVICE inline double LogGamma(double x) {
#ifdef __CUDA_ARCH__
  return ::lgamma(x);
#else
  int sign;
  return lgamma_r(x, &sign);
#endif
}

namespace quantiles_internal {

// Returns x^shape e^-x / Gamma(shape), the factor that both expansions of the
// incomplete gamma function share.
PS_HOST_DEVICE inline double GammaFactor(double shape, double x) {
  return std::exp(shape * std::log(x) - x - LogGamma(shape));
}

// Returns P(shape, x) by the power series, Abramowitz and Stegun, 6.5.29.
PS_HOST_DEVICE inline double LowerGammaSeries(double shape, double x) {
  double term = 1 / shape;
  double sum = term;
  for (double a = shape + 1; term > kPrecision * 0.01 * sum; ++a) {
    term *= x / a;
    sum += term;
  }
  return sum * GammaFactor(shape, x);
}

// Returns Q(shape, x) by the continued fraction, Abramowitz and Stegun, 6.5.31,
// evaluated by Lentz's method.
PS_HOST_DEVICE inline double UpperGammaFraction(double shape, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  double factor = 0;
  for (double i = 1; std::fabs(factor - 1) > kPrecision * 0.01; ++i) {
    const double a = i * (shape - i);
    b += 2;
    d = a * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    factor = d * c;
    fraction *= factor;
  }
  return fraction * GammaFactor(shape, x);
}

// Computes the probability that a standard normal draw exceeds x.
struct NormalSurvival {
  PS_HOST_DEVICE double operator()(double x) const {
    constexpr double kSqrt2 = 1.41421356237309504880;
    return 0.5 * ::erfc(x / kSqrt2);
  }
};

}  // namespace quantiles_internal

// Returns the quantile of the standard normal distribution; p in (0, 1).
PS_HOST_DEVICE inline double NormalUpperQuantile(double p) {
  if (p == 0.5) return 0;
  const double tail = p > 0.5 ? 1 - p : p;
  const double x = quantiles_internal::SolveSurvival()(
      quantiles_internal::NormalSurvival(), tail, 1);
  return p > 0.5 ? -x : x;
}

// Returns Q(shape, x), the regularised upper incomplete gamma function; x at
// least 0.
PS_HOST_DEVICE inline double RegularizedUpperGamma(double shape, double x) {
  if (x <= 0) return 1;
  return x < shape + 1 ? 1 - quantiles_internal::LowerGammaSeries(shape, x)
                       : quantiles_internal::UpperGammaFraction(shape, x);
}

namespace quantiles_internal {

struct GammaSurvival {
  double shape;

  PS_HOST_DEVICE double operator()(double x) const {
    return RegularizedUpperGamma(shape, x);
  }
};

}  // namespace quantiles_internal

// Returns the quantile of the gamma distribution with this shape and scale 1:
// the x with Q(shape, x) = p. shape: above 0. p: in (0, 1]. `solve` replaces
// quantiles_internal::SolveSurvival.
template <typename Solve = quantiles_internal::SolveSurvival>
PS_HOST_DEVICE double GammaUpperQuantile(double shape, double p,
                                         const Solve& solve = Solve()) {
  if (p >= 1) return 0;
  if (shape > 1e5) {
    // The series would take too long. Wilson and Hilferty, PNAS 17 (1931): from
    // this shape on, the relative error of their approximation is below 1e-7.
    const double ninth = 1 / (9 * shape);
    return shape *
           std::pow(1 - ninth + NormalUpperQuantile(p) * std::sqrt(ninth), 3);
  }
  const double guess = -std::log(p) - LogGamma(shape);
  return solve(quantiles_internal::GammaSurvival{shape}, p,
               guess > 1 ? guess : 1.0);
}

}  // namespace ps

#endif  // COMPRESSORS_FITS_QUANTILES_H_
