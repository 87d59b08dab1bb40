// Fits levels to the magnitudes that are rounded to them, by ALQ's coordinate
// descent. Faghri, Tabrizian, Markov, Alistarh, Roy, Ramezani-Kebrya, "Adaptive
// gradient quantization for data-parallel SGD", NeurIPS 2020, in its exact form
// for a sample.
#ifndef COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_
#define COMPRESSORS_VALUE_CODES_FITTED_LEVELS_H_

#include <cstdint>
#include <vector>

#include "compressors/value_codes/level_descent.h"

namespace ps {

// Sums an ascending sample. Element k of the result holds the sums over the
// first k elements.
std::vector<SampleSums> SumSample(const std::vector<uint64_t>& sample);

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
