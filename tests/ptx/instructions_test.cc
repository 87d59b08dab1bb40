// What instructions compute, compared with the host's arithmetic.

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/ptx/device_array.h"
#include "tests/ptx/kernels.h"

namespace ptx {
namespace {

uint32_t Reversed(uint32_t x) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}

uint32_t Bytes(uint32_t a, uint32_t b, std::vector<int> selectors) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const int s = selectors[i];
    const uint32_t byte = (s % 8 < 4 ? a : b) >> 8 * (s % 4) & 255;
    result |= (s < 8 ? byte : byte >= 128 ? 255u : 0u) << 8 * i;
  }
  return result;
}

TEST(InstructionsTest, IntegersOf32Bits) {
  const uint32_t values[] = {0,          1,          7,         0x80000000,
                             0xffffffff, 0x12345678, 0xdeadbeef};
  for (const uint32_t a : values) {
    for (const uint32_t b : values) {
      const uint32_t c = 0x0badf00d ^ a;
      SCOPED_TRACE(testing::Message() << a << " " << b << " " << c);
      DeviceArray<uint32_t> out(35);
      RunIntegers(a, b, c, out.data(), TestStream());
      const std::vector<uint32_t> got = out.Get();
      const auto x = static_cast<int32_t>(a);
      const auto y = static_cast<int32_t>(b);
      const auto z = static_cast<int32_t>(c);
      const uint32_t s = c & 31;
      const uint64_t wide = uint64_t{b} << 32 | a;
      uint32_t dot = c;
      for (int i = 0; i < 4; ++i) {
        dot +=
            static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
      }
      const int32_t high = static_cast<int32_t>(int64_t{x} * y >> 32);
      const uint32_t bits = b & 31;
      const uint32_t field = a >> bits & 127;
      const int32_t shifted = x >> bits;
      const int32_t signed_field = ((shifted & 511) ^ 256) - 256;
      const uint32_t magnitude = x < 0 ? ~a : a;
      const uint32_t counted = b & 63;
      const std::vector<uint32_t> expected = {
          static_cast<uint32_t>(uint64_t{a} * b >> 32),
          static_cast<uint32_t>(high),
          Reversed(a),
          a == 0 ? 32u : __builtin_clz(a),
          static_cast<uint32_t>(__builtin_popcount(a)),
          static_cast<uint32_t>(__builtin_ffs(x)),
          static_cast<uint32_t>(wide << s >> 32),
          static_cast<uint32_t>(wide >> s),
          static_cast<uint32_t>(std::min(c, 32u) == 32 ? a : wide << c >> 32),
          a / (b | 1),
          a % (b | 1),
          y == -1 ? 0u - a : static_cast<uint32_t>(x / (y | 1)),
          y == -1 ? 0u : static_cast<uint32_t>(x % (y | 1)),
          static_cast<uint32_t>(std::min(x, y)),
          std::max(a, b),
          static_cast<uint32_t>(static_cast<int8_t>(a)),
          dot,
          // Inline assembly.
          field,
          static_cast<uint32_t>(signed_field),
          (b & ~(0x7ffu << 5)) | (a & 0x7ff) << 5,
          (a & b) ^ c,  // 0x6a
          Bytes(a, b, {2, 4, 7, 11}),
          magnitude == 0 ? ~0u : 31u - __builtin_clz(magnitude),
          a == 0 ? ~0u : static_cast<uint32_t>(__builtin_clz(a)),
          0,
          x < 0 ? ~0u : 0u,
          c + static_cast<uint32_t>(std::llabs(int64_t{x} - y)),
          c + 5 + (uint64_t{a} + b > 0xffffffff),
          c - 5 - (a < b),
          counted == 0
              ? 0u
              : static_cast<uint32_t>(
                    ((uint64_t{1} << std::min(counted, 32u)) - 1) << 3),
          x < 0 ? 0u : std::min(a, 255u),
          x < y ? 2u : 1u,
          z >= 0 ? a : b,
          static_cast<uint32_t>(high) + c,
          a == 0,
      };
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(got[i], expected[i]) << "number " << i;
      }
    }
  }
}

TEST(InstructionsTest, IntegersOf64Bits) {
  const uint64_t values[] = {0, 3, 0x8000000000000000, ~uint64_t{0},
                             0x123456789abcdef0};
  for (const uint64_t a : values) {
    for (const uint64_t b : values) {
      SCOPED_TRACE(testing::Message() << a << " " << b);
      DeviceArray<uint64_t> out(10);
      RunLongIntegers(a, b, out.data(), TestStream());
      const auto x = static_cast<int64_t>(a);
      const auto y = static_cast<int64_t>(b);
      using Wide = unsigned __int128;
      uint64_t reversed = 0;
      for (int i = 0; i < 64; ++i) reversed |= (a >> i & 1) << (63 - i);
      const std::vector<uint64_t> expected = {
          static_cast<uint64_t>(Wide{a} * b >> 64),
          static_cast<uint64_t>(static_cast<__int128>(x) * y >> 64),
          reversed,
          a == 0 ? 64u : static_cast<uint64_t>(__builtin_clzll(a)),
          static_cast<uint64_t>(__builtin_popcountll(a)),
          a / (b | 1),
          y == -1 ? 0 : static_cast<uint64_t>(x % (y | 1)),
          static_cast<uint64_t>(x >> (b & 63)),
          static_cast<uint64_t>((Wide{a} + b) >> 64),
          static_cast<uint64_t>((Wide{a} * b - (Wide{a} + b)) >> 64),
      };
      EXPECT_EQ(out.Get(), expected);
    }
  }
}

// A value computed with another rounding, without the compiler's help.
template <typename Compute>
auto Rounded(int mode, Compute compute) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const volatile auto result = compute();
  std::fesetround(before);
  return result;
}

template <typename F>
bool SameBits(F a, F b) {
  return std::memcmp(&a, &b, sizeof(F)) == 0;
}

TEST(InstructionsTest, Floats) {
  const float values[] = {1.1f, -0.3f, 1e-20f, 3e38f, 0.7f, -2.5f, 100.1f};
  for (const float plain_a : values) {
    for (const float plain_b : values) {
      const volatile float a = plain_a, b = plain_b, c = -0.1f * plain_a;
      SCOPED_TRACE(testing::Message() << a << " " << b << " " << c);
      DeviceArray<float> out(21);
      RunFloats(a, b, c, out.data(), TestStream());
      const std::vector<float> got = out.Get();
      const float fa = a;
      const std::vector<float> exact = {
          Rounded(FE_TOWARDZERO, [&] { return a + b; }),
          Rounded(FE_UPWARD, [&] { return a * b; }),
          Rounded(FE_DOWNWARD, [&] { return std::fma(a, b, c); }),
          Rounded(FE_UPWARD, [&] { return a / b; }),
          1 / a,
          std::sqrt(std::fabs(fa)),
          fa,
          0.0f,
          std::min(std::max(fa, 0.0f), 1.0f),
          std::copysign(fa, static_cast<float>(c)),
          std::nearbyint(fa),
          std::floor(fa),
          a / b,
          std::fma(a, b, c),
      };
      for (size_t i = 0; i < exact.size(); ++i) {
        EXPECT_TRUE(SameBits(got[i], exact[i]))
            << "number " << i << ": " << got[i] << ", expected " << exact[i];
      }
      const float fb = b;
      const std::vector<float> close = {
          std::exp2(fb), std::log2(std::fabs(fa)),     std::sin(fb),
          std::cos(fb),  1 / std::sqrt(std::fabs(fa)), std::tanh(fb)};
      for (size_t i = 0; i < close.size(); ++i) {
        if (std::fabs(fb) > 1000 && (i == 2 || i == 3)) continue;
        if (std::isinf(close[i])) {
          EXPECT_EQ(got[14 + i], close[i]);
          continue;
        }
        EXPECT_NEAR(got[14 + i], close[i], 1e-5 * std::fabs(close[i]) + 1e-6)
            << "number " << 14 + i;
      }
    }
  }
}

TEST(InstructionsTest, Doubles) {
  for (const double a : {1.1, -0.3, 1e-200, 77.7}) {
    for (const double b : {0.9, -3.3, 12.5}) {
      const double c = -a / 3;
      SCOPED_TRACE(testing::Message() << a << " " << b);
      DeviceArray<double> out(10);
      RunDoubles(a, b, c, out.data(), TestStream());
      const std::vector<double> got = out.Get();
      const volatile double x = a, y = b;
      const std::vector<double> exact = {
          a + b,
          a / b,
          std::fma(a, b, c),
          std::sqrt(std::fabs(a)),
          Rounded(FE_UPWARD, [&] { return x + y; }),
          Rounded(FE_TOWARDZERO, [&] { return x * y; })};
      for (size_t i = 0; i < exact.size(); ++i) {
        EXPECT_TRUE(SameBits(got[i], exact[i])) << "number " << i;
      }
      const double close[] = {std::exp(b), std::log(std::fabs(a)),
                              std::pow(std::fabs(a), b), std::fmod(a, b)};
      for (int i = 0; i < 4; ++i) {
        if (got[6 + i] == close[i]) continue;  // Infinities, too.
        EXPECT_NEAR(got[6 + i], close[i], 4e-16 * std::fabs(close[i]))
            << "number " << 6 + i;
      }
    }
  }
}

TEST(InstructionsTest, ConversionsRoundAndSaturate) {
  const auto run = [](float a, double b) {
    DeviceArray<int64_t> out(13);
    RunConversions(a, b, out.data(), TestStream());
    return out.Get();
  };
  const auto bits = [](float x) {
    int32_t word = 0;
    std::memcpy(&word, &x, sizeof(word));
    return int64_t{word};
  };
  EXPECT_EQ(run(2.5f, -7.5),
            (std::vector<int64_t>{2, 2, 3, 2, 2, 2, -8, 0, -8, bits(-7.5f),
                                  bits(-8), bits(1075838976.0f), 2}));
  const std::vector<int64_t> large = run(-3e10f, 1.00000001);
  EXPECT_EQ(large[0], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(large[4], 0);
  EXPECT_EQ(large[5], -30000001024);
  EXPECT_EQ(large[9], bits(1.0f));
  const std::vector<int64_t> nan = run(std::nanf(""), std::nan(""));
  EXPECT_EQ(nan[0], 0);
  EXPECT_EQ(nan[4], 0);
  EXPECT_EQ(nan[5], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(nan[9], 0x7fffffff);
}

uint16_t Bf16(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float Wide(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
uint16_t Fp16(float x) {
  const auto half = static_cast<_Float16>(x);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

TEST(InstructionsTest, FloatsOf16Bits) {
  for (const float a : {1.00390625f, -3.1415926f, 1e-3f}) {
    const float b = 0.77f, c = -0.3f;
    SCOPED_TRACE(a);
    DeviceArray<uint16_t> out(14);
    RunHalves(a, b, c, out.data(), TestStream());
    const float x = Wide(Bf16(a)), y = Wide(Bf16(b)), z = Wide(Bf16(c));
    uint32_t word = 0;
    std::memcpy(&word, &a, sizeof(word));
    const auto h = static_cast<_Float16>(a);
    auto toward_zero = static_cast<_Float16>(b);
    if (static_cast<float>(toward_zero) > b) {
      uint16_t below = static_cast<uint16_t>(Fp16(b) - 1);
      std::memcpy(&toward_zero, &below, sizeof(below));
    }
    EXPECT_EQ(out.Get(),
              (std::vector<uint16_t>{
                  Bf16(a), static_cast<uint16_t>(word >> 16), Bf16(x + y),
                  Bf16(x * y), Bf16(x * y + z), Bf16(std::max(x, y)),
                  static_cast<uint16_t>(Bf16(a) ^ 0x8000), Bf16(a), Bf16(y + z),
                  Fp16(a), Fp16(static_cast<float>(toward_zero)),
                  Fp16(static_cast<float>(h) +
                       static_cast<float>(static_cast<_Float16>(b))),
                  Bf16(static_cast<float>(h)), x < y}));
  }
}

// The file is compiled with -fmad=false, and nothing here fuses what nvcc
// leaves apart.
TEST(InstructionsTest, ProductsAreFusedOnlyWhereTheProgramSaysSo) {
  const volatile float a = 1.0001f, b = 1.0001f, c = -1.0002f;
  DeviceArray<float> out(2);
  RunProduct(a, b, c, out.data(), out.data() + 1, TestStream());
  const volatile float product = a * b;
  const float separate = product + c;
  const float fused = std::fma(a, b, c);
  ASSERT_NE(separate, fused);
  EXPECT_EQ(out.Get(), (std::vector<float>{separate, fused}));
}

}  // namespace
}  // namespace ptx
