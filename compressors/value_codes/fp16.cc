// IEEE binary16, rounded to the nearest, ties to even: 5 bits of exponent, 10
// of fraction. Magnitudes that would round to infinity become 65504, the
// largest finite number, and those below 2^-25 become 0; the rest stays in the
// residual.
#include "compressors/value_codes/two_byte_codec.h"

namespace ps {
namespace {

// Between the biases of the exponents, 127 and 15.
constexpr uint32_t kRebias = 112;

struct Fp16 {
  static constexpr char kName[] = "fp16";
  static constexpr ValueCode kNumber = ValueCode::kFp16;
  static constexpr double kRelativeError = 0x1p-11;

  static uint16_t Narrow(float x) {
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
                                 std::min(rounded, kLargest));
  }

  static float Widen(uint16_t code) {
    const uint32_t sign = uint32_t{code} >> 15 << 31;
    const uint32_t magnitude = code & 0x7fff;
    if (magnitude >= 0x7c00) return FloatFromBits(sign | 0x7fc00000);  // NaN.
    // The exponent is too small by kRebias; a multiplication makes it up, for
    // numbers below the smallest normal one, too.
    const float scaled = FloatFromBits(magnitude << 13) * 0x1p112f;
    return FloatFromBits(sign | FloatBits(scaled));
  }
};

REGISTER_VALUE_CODEC(fp16, new TwoByteCodec<Fp16>);

}  // namespace
}  // namespace ps
