// Rounds to levels in the inner loops. They use vector instructions where the
// machine has them, with the same bits as one value at a time.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_

#include <cstdint>

namespace ps {

// Values that share a scale.
struct LevelStretch {
  float scale = 0;               // 0 if all values are 0.
  int bits = 0;                  // The width of a level code.
  int64_t n = 0;                 // Number of values.
  const float* draws = nullptr;  // [n], in [0, 1).
  float* values = nullptr;       // [n]; replaced with the error.
  uint8_t* codes = nullptr;      // [n]; written.
};

// These round like UniformLevels, ExponentialLevels and TableLevels of
// levels.h.
void RoundToUniformLevels(const LevelStretch& stretch);
void RoundToExponentialLevels(const LevelStretch& stretch);
// Rounds to table levels. levels: one value per level, from 0 to 1.
void RoundToTableLevels(const float* levels, const LevelStretch& stretch);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_LOOPS_H_
