// Rounds a magnitude in [0, 1] to one of the levels 0 = L_0 < ... < L_s = 1, at
// random such that the expectation is the magnitude. If f is the position
// between the two neighbouring levels, 0 at the lower and 1 at the upper, then
// the upper level is taken if draw < f.
#ifndef COMPRESSORS_VALUE_CODES_LEVELS_H_
#define COMPRESSORS_VALUE_CODES_LEVELS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"

namespace ps {

// a x b, rounded by itself: a device fuses it with no sum.
PS_HOST_DEVICE inline float Product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

enum class LevelSpacing { kUniform, kExponential, kFitted };

// Returns the ratio of |value| to the scale, clamped to [0, 1], since rounding
// may make a norm smaller than a single magnitude. It is 0 if the scale is 0,
// and with it all values.
PS_HOST_DEVICE inline float RelativeMagnitude(float value, float scale) {
  if (!(scale > 0)) return 0;
  const float relative = fabsf(value) / scale;
  return relative < 1.0f ? relative : 1.0f;
}

// Levels 0, 1/s, ..., 1, numbered 0 to s.
struct UniformLevels {
  PS_HOST_DEVICE static float Value(int level, int s) {
    return static_cast<float>(level) / static_cast<float>(s);
  }

  PS_HOST_DEVICE static int Round(float r, int s, float draw) {
    const float place = Product(r, static_cast<float>(s));
    const int whole = static_cast<int>(place);
    const int lower = whole < s - 1 ? whole : s - 1;
    return lower + (draw < place - static_cast<float>(lower) ? 1 : 0);
  }
};

// Levels 0, 2^(1-s), ..., 1/2, 1, numbered 0 to s.
struct ExponentialLevels {
  PS_HOST_DEVICE static float Value(int level, int s) {
    return level == 0 ? 0.0f : PowerOfTwo(level - s);
  }

  PS_HOST_DEVICE static int Round(float r, int s, float draw) {
    constexpr int kBias = 127;
    // r is in [2^-octave, 2^(1 - octave)); 1 counts as part of the octave below
    // it.
    const int below_one = kBias - static_cast<int>(FloatBits(r) >> 23);
    const int octave = below_one > 1 ? below_one : 1;
    // r is below 2^(1 - s), the lowest level that is not 0.
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

// Arbitrary levels.
class TableLevels {
 public:
  // levels: [s + 1], from 0 to 1; not owned.
  explicit TableLevels(const float* levels) : levels_(levels) {}

  float Value(int level, int) const { return levels_[level]; }

  int Round(float r, int s, float draw) const {
    // No magnitude exceeds the last level, 1.
    const int upper = static_cast<int>(
        std::upper_bound(levels_ + 1, levels_ + s, r) - levels_);
    const float lower = levels_[upper - 1];
    const float place = (r - lower) / (levels_[upper] - lower);
    return upper - (draw < place ? 0 : 1);
  }

 private:
  const float* const levels_;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVELS_H_
