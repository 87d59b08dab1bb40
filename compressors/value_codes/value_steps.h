// Encodes a single value by each code, for host and device. Each function
// returns the code of the value and replaces the value with the error.
#ifndef COMPRESSORS_VALUE_CODES_VALUE_STEPS_H_
#define COMPRESSORS_VALUE_CODES_VALUE_STEPS_H_

#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"
#include "compressors/value_codes/levels.h"

namespace ps {

// Returns 1 for a negative value, which decodes as -negative_mean, and 0 for
// any other, which decodes as other_mean.
PS_HOST_DEVICE inline int TakeSign(float other_mean, float negative_mean,
                                   float* value) {
  const int negative = *value < 0;
  *value -= negative ? -negative_mean : other_mean;
  return negative;
}

// The digits of "two_bit_threshold".
constexpr int kNegativePair = 2;
constexpr int kPositivePair = 3;

PS_HOST_DEVICE inline int TakePair(float threshold, float* value) {
  if (*value >= threshold) {
    *value -= threshold;
    return kPositivePair;
  }
  if (*value <= -threshold) {
    *value += threshold;
    return kNegativePair;
  }
  return 0;
}

// The sizes of the codes of "natural".
constexpr int kNaturalBits = 9;
constexpr int kFloatFractionBits = 23;
constexpr uint32_t kExponentMask = 0xff;

// Decodes a code that TakeNatural returned.
PS_HOST_DEVICE inline float NaturalValue(uint32_t code) {
  return FloatFromBits((code >> 8) << 31 | (code & kExponentMask)
                                               << kFloatFractionBits);
}

PS_HOST_DEVICE inline uint32_t TakeNatural(float draw, float* value) {
  constexpr uint32_t kLargestExponent = 0xfe;
  const uint32_t bits = FloatBits(*value);
  // Adding a uniform 23-bit integer carries into the exponent with a
  // probability equal to the fraction. This also holds below the smallest
  // normal float, whose exponent decodes as 0.
  const uint32_t carry = static_cast<uint32_t>(draw * 0x1p23f);
  uint32_t exponent = ((bits & 0x7fffffff) + carry) >> kFloatFractionBits;
  if (exponent > kLargestExponent) exponent = kLargestExponent;
  const uint32_t negative = exponent == 0 ? 0 : bits >> 31;
  const uint32_t code = negative << 8 | exponent;
  *value -= NaturalValue(code);
  return code;
}

// Returns a level code of `bits` bits (level_stream.h), by UniformLevels,
// ExponentialLevels or TableLevels.
template <typename Levels>
PS_HOST_DEVICE inline uint32_t TakeLevel(const Levels& levels, float scale,
                                         int bits, float draw, float* value) {
  if (!(scale > 0)) return 0;  // All values that share this scale are 0.
  const int sign_code = 1 << (bits - 1);
  const int s = sign_code - 1;
  const int level = levels.Round(RelativeMagnitude(*value, scale), s, draw);
  const bool negative = *value < 0 && level > 0;
  const float decoded = Product(scale, levels.Value(level, s));
  *value -= negative ? -decoded : decoded;
  return static_cast<uint32_t>(level | (negative ? sign_code : 0));
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VALUE_STEPS_H_
