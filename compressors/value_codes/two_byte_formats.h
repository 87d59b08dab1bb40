// Floats of 16 bits, on host and device.
#ifndef COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_
#define COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_

#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"

namespace ps {

// The upper half of a float, rounded to the nearest, ties to even: 8 bits of
// exponent, 7 of fraction. What would round to infinity becomes the largest
// finite number, so that the rest stays in the residual.
struct Bf16 {
  PS_HOST_DEVICE static uint16_t Narrow(float x) {
    constexpr uint32_t kLargest = 0x7f7f;
    const uint32_t bits = FloatBits(x);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t odd = magnitude >> 16 & 1;
    const uint32_t rounded = (magnitude + 0x7fff + odd) >> 16;
    return static_cast<uint16_t>((bits >> 31) << 15 |
                                 (rounded < kLargest ? rounded : kLargest));
  }

  PS_HOST_DEVICE static float Widen(uint16_t code) {
    return FloatFromBits(uint32_t{code} << 16);
  }
};

// IEEE binary16, rounded to the nearest, ties to even: 5 bits of exponent, 10
// of fraction. Magnitudes that would round to infinity become 65504, the
// largest finite number, and those below 2^-25 become 0; the rest stays in the
// residual.
struct Fp16 {
  PS_HOST_DEVICE static uint16_t Narrow(float x) {
    constexpr uint32_t kLargest = 0x7bff;
    constexpr uint32_t kSmallestNormal = (kRebias + 1) << 23;  // 2^-14
    const uint32_t bits = FloatBits(x);
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t rounded;
    if (magnitude < kSmallestNormal) {
      // The units of 0.5f are 2^-24, as are those of small binary16 numbers:
      // the addition rounds.
      rounded = FloatBits(FloatFromBits(magnitude) + 0.5f) - FloatBits(0.5f);
    } else {
      const uint32_t odd = magnitude >> 13 & 1;
      rounded = (magnitude - (kRebias << 23) + 0xfff + odd) >> 13;
    }
    return static_cast<uint16_t>((bits >> 31) << 15 |
                                 (rounded < kLargest ? rounded : kLargest));
  }

  PS_HOST_DEVICE static float Widen(uint16_t code) {
    const uint32_t sign = uint32_t{code} >> 15 << 31;
    const uint32_t magnitude = code & 0x7fff;
    if (magnitude >= 0x7c00) return FloatFromBits(sign | 0x7fc00000);  // NaN.
    // The exponent is too small by kRebias; a multiplication makes it up, for
    // numbers below the smallest normal one, too.
    const float scaled = FloatFromBits(magnitude << 13) * 0x1p112f;
    return FloatFromBits(sign | FloatBits(scaled));
  }

 private:
  // Between the biases of the exponents, 127 and 15.
  static constexpr uint32_t kRebias = 112;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_
