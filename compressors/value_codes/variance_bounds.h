// How much rounding at random to a few levels adds to the square of a vector:
// the least omega with E|Q(v) - v|^2 <= omega |v|^2.
#ifndef COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_
#define COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ps {

// For every vector of d values that share their Euclidean norm as scale, and
// levels that double from `least_level` up to 1, or are its multiples. Sharper
// than the theorems of QSGD and NUQSGD, and met by vectors of equal
// magnitudes: below the least level l, r (l - r) is largest there.
inline double WorstVariance(int64_t d, double least_level) {
  const double b = std::sqrt(static_cast<double>(d)) * least_level;
  return b <= 9.0 / 4 ? 1.0 / 8 + 2 * b * b / 9 : b - 1;
}

// For d Gaussian values whose largest magnitude is the scale. That is about
// sqrt(2 ln(2 d)) standard deviations; no value below the least level adds more
// than a quarter of that level's square, and one above it no more than an
// eighth of its own. No such number holds for all vectors: one large value
// over many equal small ones comes to (sqrt(1 + d least_level^2) - 1) / 2.
inline double GaussianVariance(int64_t d, double least_level) {
  const double scale = std::sqrt(2 * std::log(2.0 * static_cast<double>(d)));
  const double step = scale * least_level;
  return 1.0 / 8 + step * step / 4;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VARIANCE_BOUNDS_H_
