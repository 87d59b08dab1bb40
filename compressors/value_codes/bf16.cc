// The upper half of a float, rounded to the nearest, ties to even: 8 bits of
// exponent, 7 of fraction. What would round to infinity becomes the largest
// finite number, so that the rest stays in the residual.
#include "compressors/value_codes/two_byte_codec.h"

namespace ps {
namespace {

struct Bf16 {
  static constexpr char kName[] = "bf16";
  static constexpr ValueCode kNumber = ValueCode::kBf16;
  static constexpr double kRelativeError = 0x1p-8;

  static uint16_t Narrow(float x) {
    constexpr uint32_t kLargest = 0x7f7f;
    const uint32_t bits = FloatBits(x);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t odd = magnitude >> 16 & 1;
    const uint32_t rounded = (magnitude + 0x7fff + odd) >> 16;
    return static_cast<uint16_t>((bits >> 31) << 15 |
                                 std::min(rounded, kLargest));
  }

  static float Widen(uint16_t code) {
    return FloatFromBits(uint32_t{code} << 16);
  }
};

REGISTER_VALUE_CODEC(bf16, new TwoByteCodec<Bf16>);

}  // namespace
}  // namespace ps
