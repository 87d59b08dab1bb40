// Conversions of bfloat16, for all of its values and numbers between them.

#include "tensor/cuda/layer_device/bfloat16.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#ifdef PS_TEST_CUDA_BF16
#include <cuda_bf16.h>
#endif

namespace ps {
namespace {

Bfloat16 OfBits(uint32_t bits) {
  Bfloat16 value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

float FloatOfBits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Lower halves: none, around half of the last kept bit, and all bits.
constexpr uint32_t kRests[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

TEST(Bfloat16Test, EveryValueSurvivesTheWayThroughAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = OfBits(bits);
    if (std::isnan(value)) {
      EXPECT_EQ(Bfloat16(value).bits, 0x7fff);
    } else {
      EXPECT_EQ(Bfloat16(value).bits, bits);
    }
  }
}

TEST(Bfloat16Test, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    const float below = OfBits(upper);
    if (!std::isfinite(below)) continue;
    // The largest value also has a successor in exponent and mantissa.
    const double low = below;
    const double high = (upper & 0x7fff) == 0x7f7f
                            ? std::copysign(std::ldexp(1.0, 128), low)
                            : double{float{OfBits(upper + 1)}};
    for (const uint32_t rest : kRests) {
      const double value = FloatOfBits(upper << 16 | rest);
      const double to_low = std::abs(value - low);
      const double to_high = std::abs(high - value);
      const bool takes_low =
          to_low < to_high || (to_low == to_high && upper % 2 == 0);
      ASSERT_EQ(Bfloat16(static_cast<float>(value)).bits,
                takes_low ? upper : upper + 1)
          << value;
    }
  }
}

TEST(Bfloat16Test, InfinitiesAndNans) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float{Bfloat16(kInfinity)}, kInfinity);
  EXPECT_EQ(float{Bfloat16(-kInfinity)}, -kInfinity);
  EXPECT_EQ(float{Bfloat16(std::numeric_limits<float>::max())}, kInfinity);
  // Even a NaN whose payload is entirely in the lower half.
  EXPECT_TRUE(std::isnan(float{Bfloat16(FloatOfBits(0x7f800001))}));
  EXPECT_TRUE(std::isnan(float{Bfloat16(FloatOfBits(0xff800001))}));
}

#ifdef PS_TEST_CUDA_BF16
TEST(Bfloat16Test, HasTheBitsOfCuda) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t rest : kRests) {
      const float value = FloatOfBits(upper << 16 | rest);
      const __nv_bfloat16_raw cuda = __float2bfloat16_rn(value);
      ASSERT_EQ(Bfloat16(value).bits, cuda.x) << value;
    }
    __nv_bfloat16_raw raw;
    raw.x = static_cast<uint16_t>(upper);
    const float of_cuda = __bfloat162float(__nv_bfloat16(raw));
    const float of_ours = OfBits(upper);
    ASSERT_EQ(std::memcmp(&of_ours, &of_cuda, sizeof(float)), 0) << upper;
  }
}
#endif

}  // namespace
}  // namespace ps
