// Fits levels to the magnitudes that are rounded to them, by ALQ's coordinate
// descent. Faghri, Tabrizian, Markov, Alistarh, Roy, Ramezani-Kebrya, "Adaptive
// gradient quantization for data-parallel SGD", NeurIPS 2020, in its exact form
// for a sample.
#ifndef COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_
#define COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_

#include <cstdint>
#include <vector>

#include "common/float_bits.h"

namespace ps {

// The number of sweeps. Up to 4 bits, more of them change nothing. The result
// is a local minimum, not always the global one.
constexpr int kLevelFitSweeps = 30;

// Packs a magnitude divided by its bucket's norm, in [0, 1], and the norm,
// which determines its weight, into one number. Non-negative floats ascend as
// their bits do, so a sample has the same order whoever sorts it.
inline uint64_t WeightedMagnitude(float magnitude, float norm) {
  return uint64_t{FloatBits(magnitude)} << 32 | FloatBits(norm);
}

inline float MagnitudeOf(uint64_t weighted) {
  return FloatFromBits(static_cast<uint32_t>(weighted >> 32));
}

// The square of the norm, which is exact.
inline double WeightOf(uint64_t weighted) {
  const double norm = FloatFromBits(static_cast<uint32_t>(weighted));
  return norm * norm;
}

// Returns levels 0 = L_0 < ... < L_s = 1; s is at least 1. Starts from NUQSGD's
// levels and lowers, level by level, the expected squared error of rounding the
// sample of WeightedMagnitudes,
//
//     sum of weight (r - L_j) (L_{j+1} - r), with L_j and L_{j+1} around r.
//
// No sweep raises this error. Ends early when no level moves.
std::vector<float> FitLevels(std::vector<uint64_t> sample, int s,
                             int sweeps = kLevelFitSweeps);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_
