// Levels fitted to the magnitudes that are rounded to them: the coordinate
// descent of ALQ. Faghri, Tabrizian, Markov, Alistarh, Roy, Ramezani-Kebrya,
// "Adaptive gradient quantization for data-parallel SGD", NeurIPS 2020, in its
// exact form for a sample.
#ifndef COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_
#define COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_

#include <vector>

namespace ps {

struct WeightedMagnitude {
  float magnitude = 0;  // Over its bucket's norm; in [0, 1].
  double weight = 0;    // The norm's square; at least 0.
};

// Up to 4 bits, more change nothing; each is a step to a minimum, if not always
// the lowest one.
constexpr int kLevelFitSweeps = 30;

// Levels 0 = L_0 < ... < L_s = 1; s is at least 1. Starts from those of NUQSGD
// and lowers, level by level, the expected squared error of rounding the
// sample,
//
//     sum of weight (r - L_j) (L_{j+1} - r), with L_j and L_{j+1} around r,
//
// which no sweep raises. Ends early when no level moves.
std::vector<float> FitLevels(std::vector<WeightedMagnitude> sample, int s,
                             int sweeps = kLevelFitSweeps);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_
