// Converts to and from 16-bit floats, for host and device.
#ifndef COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_
#define COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_

#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"

namespace ps {

// bfloat16: the upper half of a float, rounded to nearest, ties to even: 8 bits
// of exponent, 7 of fraction. Values that would round to infinity become the
// largest finite number, so that the remainder stays in the residual.
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

// IEEE binary16, rounded to nearest, ties to even: 5 bits of exponent, 10 of
// fraction. Magnitudes that would round to infinity become 65504, the largest
// finite number, and those below 2^-25 become 0; the remainder stays in the
// residual.
struct Fp16 {
  PS_HOST_DEVICE static uint16_t Narrow(float x) {
    constexpr uint32_t kLargest = 0x7bff;
    constexpr uint32_t kSmallestNormal = (kRebias + 1) << 23;  // 2^-14
    const uint32_t bits = FloatBits(x);
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t rounded;
    if (magnitude < kSmallestNormal) {
      // The unit in the last place of 0.5f is 2^-24, like that of subnormal
      // binary16 numbers: the addition rounds.
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
    // The exponent is too small by kRebias; the multiplication corrects it, for
    // subnormal numbers too.
    const float scaled = FloatFromBits(magnitude << 13) * 0x1p112f;
    return FloatFromBits(sign | FloatBits(scaled));
  }

 private:
  // The difference of the exponents' biases, 127 and 15.
  static constexpr uint32_t kRebias = 112;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_TWO_BYTE_FORMATS_H_
