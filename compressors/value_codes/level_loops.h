// The inner loops of rounding to levels: vectors where the machine has them,
// with the bits that one value at a time gives.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_

#include <cstdint>

namespace ps {

// Values that share a scale.
struct LevelStretch {
  float scale = 0;               // 0 if all values are.
  int bits = 0;                  // Of a level code.
  int64_t n = 0;                 // Values.
  const float* draws = nullptr;  // [n], in [0, 1).
  float* values = nullptr;       // [n]; replaced by what is lost.
  uint8_t* codes = nullptr;      // [n]; written.
};

// By UniformLevels, ExponentialLevels and TableLevels of levels.h.
void RoundToUniformLevels(const LevelStretch& stretch);
void RoundToExponentialLevels(const LevelStretch& stretch);
// levels: from 0 to 1, one for each level.
void RoundToTableLevels(const float* levels, const LevelStretch& stretch);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_
