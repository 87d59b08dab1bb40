// Computes the variance that random rounding to a few levels adds: the smallest
// omega with E|Q(v) - v|^2 <= omega |v|^2.
#ifndef COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_
#define COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ps {

// Returns a bound for every vector of d values that are scaled by their
// Euclidean norm, with levels that double from `least_level` up to 1 or are its
// multiples. It is sharper than the theorems of QSGD and NUQSGD, and vectors of
// equal magnitudes attain it: below the least level l, r (l - r) is largest for
// them.
inline double WorstVariance(int64_t d, double least_level) {
  const double b = std::sqrt(static_cast<double>(d)) * least_level;
  return b <= 9.0 / 4 ? 1.0 / 8 + 2 * b * b / 9 : b - 1;
}

// Returns an estimate for d Gaussian values that are scaled by their largest
// magnitude, which is about sqrt(2 ln(2 d)) standard deviations. A value below
// the least level adds no more than a quarter of that level's square, and a
// value above it no more than an eighth of its own square. This does not hold
// for all vectors: one large value among many equal small ones reaches (sqrt(1
// + d least_level^2) - 1) / 2.
inline double GaussianVariance(int64_t d, double least_level) {
  const double scale = std::sqrt(2 * std::log(2.0 * static_cast<double>(d)));
  const double step = scale * least_level;
  return 1.0 / 8 + step * step / 4;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_
