// Rounding of a magnitude in [0, 1] to one of the levels 0 = L_0 < ... < L_s =
// 1, at random such that the mean is the magnitude. With f the place between
// the levels around it, 0 at the lower and 1 at the upper, the upper is taken
// where draw < f.
#ifndef COMPRESSORS_VALUE_CODES_LEVELS_H_
#define COMPRESSORS_VALUE_CODES_LEVELS_H_

#include <cmath>
#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"
#include "common/partition_point.h"

namespace ps {

enum class LevelSpacing { kUniform, kExponential, kFitted };

// Of a value to its scale, in [0, 1]: rounding may have made a norm less than a
// single magnitude. 0 where the scale is, and with it all values.
PS_HOST_DEVICE inline float RelativeMagnitude(float value, float scale) {
  if (!(scale > 0)) return 0;
  const float relative = fabsf(value) / scale;
  return relative < 1.0f ? relative : 1.0f;
}

// Levels 0, 1/s, ..., 1, called 0 to s.
struct UniformLevels {
  PS_HOST_DEVICE static float Value(int level, int s) {
    return static_cast<float>(level) / static_cast<float>(s);
  }

  PS_HOST_DEVICE static int Round(float r, int s, float draw) {
    const float place = r * static_cast<float>(s);
    const int whole = static_cast<int>(place);
    const int lower = whole < s - 1 ? whole : s - 1;
    return lower + (draw < place - static_cast<float>(lower) ? 1 : 0);
  }
};

// Levels 0, 2^(1-s), ..., 1/2, 1, called 0 to s: s of them are not 0.
struct ExponentialLevels {
  PS_HOST_DEVICE static float Value(int level, int s) {
    return level == 0 ? 0.0f : PowerOfTwo(level - s);
  }

  PS_HOST_DEVICE static int Round(float r, int s, float draw) {
    constexpr int kBias = 127;
    // r is in [2^-octave, 2^(1 - octave)); 1 counts to the octave below it.
    const int below_one = kBias - static_cast<int>(FloatBits(r) >> 23);
    const int octave = below_one > 1 ? below_one : 1;
    // Below 2^(1 - s), the least level that is not 0.
    if (octave > s - 1) {
      return draw < r * PowerOfTwo(s - 1) ? 1 : 0;
    }
    const float place = r * PowerOfTwo(octave) - 1;
    return s - octave + (draw < place ? 1 : 0);
  }

 private:
  PS_HOST_DEVICE static float PowerOfTwo(int exponent) {
    return FloatFromBits(static_cast<uint32_t>(exponent + 127) << 23);
  }
};

// Any levels.
class TableLevels {
 public:
  // levels: [s + 1], from 0 to 1; not owned.
  PS_HOST_DEVICE explicit TableLevels(const float* levels) : levels_(levels) {}

  PS_HOST_DEVICE float Value(int level, int) const { return levels_[level]; }

  PS_HOST_DEVICE int Round(float r, int s, float draw) const {
    // The last level, 1, is above none.
    const int upper = static_cast<int>(
        PartitionPoint(1, s, [&](int64_t i) { return levels_[i] <= r; }));
    const float lower = levels_[upper - 1];
    const float place = (r - lower) / (levels_[upper] - lower);
    return upper - (draw < place ? 0 : 1);
  }

 private:
  const float* const levels_;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVELS_H_
