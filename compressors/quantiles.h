// Upper quantiles of two laws: the number that a draw exceeds with a given
// probability.
#ifndef COMPRESSORS_QUANTILES_H_
#define COMPRESSORS_QUANTILES_H_

namespace ps {

// Of the standard normal law; p in (0, 1).
double NormalUpperQuantile(double p);

// Of the gamma law with this shape and scale 1: the x with Q(shape, x) = p.
// shape above 0; p in (0, 1].
double GammaUpperQuantile(double shape, double p);

// Q(shape, x), the regularised upper incomplete gamma function; x at least 0.
double RegularizedUpperGamma(double shape, double x);

// ln Gamma(x) for x above 0. Unlike std::lgamma, it writes no global.
double LogGamma(double x);

}  // namespace ps

#endif  // COMPRESSORS_QUANTILES_H_
