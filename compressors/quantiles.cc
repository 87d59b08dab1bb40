#include "compressors/quantiles.h"

#include <math.h>  // lgamma_r.

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

constexpr double kPrecision = 1e-13;

// The x at least 0 where `survival`, which falls, reaches p. `high`: above 0, a
// guess of a larger x.
template <typename Survival>
double SolveSurvival(Survival survival, double p, double high) {
  while (survival(high) > p) high *= 2;
  double low = 0;
  // Each step halves: the limit is for an x that is next to 0.
  for (int i = 0; i < 200 && high - low > kPrecision * high; ++i) {
    const double middle = low + (high - low) / 2;
    (survival(middle) > p ? low : high) = middle;
  }
  return high;
}

// x^shape e^-x / Gamma(shape), which both expansions of the incomplete gamma
// function start with.
double GammaFactor(double shape, double x) {
  return std::exp(shape * std::log(x) - x - LogGamma(shape));
}

// P(shape, x): power series, Abramowitz and Stegun, 6.5.29.
double LowerGammaSeries(double shape, double x) {
  double term = 1 / shape;
  double sum = term;
  for (double a = shape + 1; term > kPrecision * 0.01 * sum; ++a) {
    term *= x / a;
    sum += term;
  }
  return sum * GammaFactor(shape, x);
}

// Q(shape, x): continued fraction, Abramowitz and Stegun, 6.5.31, evaluated by
// Lentz's method.
double UpperGammaFraction(double shape, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  double factor = 0;
  for (double i = 1; std::abs(factor - 1) > kPrecision * 0.01; ++i) {
    const double a = i * (shape - i);
    b += 2;
    d = a * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    factor = d * c;
    fraction *= factor;
  }
  return fraction * GammaFactor(shape, x);
}

}  // namespace

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double NormalUpperQuantile(double p) {
  if (p > 0.5) return -NormalUpperQuantile(1 - p);
  if (p == 0.5) return 0;
  return SolveSurvival([](double x) { return 0.5 * std::erfc(x / M_SQRT2); }, p,
                       1);
}

double RegularizedUpperGamma(double shape, double x) {
  if (x <= 0) return 1;
  return x < shape + 1 ? 1 - LowerGammaSeries(shape, x)
                       : UpperGammaFraction(shape, x);
}

double GammaUpperQuantile(double shape, double p) {
  if (p >= 1) return 0;
  if (shape > 1e5) {
    // The series would take long. Wilson and Hilferty, PNAS 17 (1931): from
    // here on its relative error is below 1e-7.
    const double ninth = 1 / (9 * shape);
    return shape *
           std::pow(1 - ninth + NormalUpperQuantile(p) * std::sqrt(ninth), 3);
  }
  return SolveSurvival(
      [shape](double x) { return RegularizedUpperGamma(shape, x); }, p,
      std::max(1.0, -std::log(p) - LogGamma(shape)));
}

}  // namespace ps
