// Codes that round at random: unbiased, with exactly the variance of two-point
// rounding, and independent from element to element.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox.h"
#include "gtest/gtest.h"
#include "tests/compressors/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

TEST(PhiloxTest, KnownAnswers) {
  // Of the authors' Random123.
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
}

TEST(PhiloxTest, VectorsOfDrawsAreTheSameDraws) {
  constexpr uint64_t kKey = 0x123456789abcdef0;
  for (const int64_t begin : {int64_t{0}, int64_t{1024}, int64_t{4} << 30}) {
    for (const size_t n : {0, 1, 3, 4, 31, 32, 33, 64, 1000, 1023}) {
      std::vector<float> draws(n);
      UniformDraws(kKey).Fill(begin, absl::MakeSpan(draws));
      for (size_t i = 0; i < n; ++i) {
        const uint32_t counter = static_cast<uint32_t>((begin + i) / 4);
        const uint32_t word =
            Philox({counter, 0, 0, 0}, {0x9abcdef0, 0x12345678})[i % 4];
        ASSERT_EQ(draws[i], (word >> 8) / 16777216.0f) << begin << "+" << i;
      }
    }
  }
}

TEST(LevelsTest, HandCases) {
  // v = (3, -4), norm 5.
  EXPECT_EQ(UniformLevels::Round(0.6f, 4, 0.39f), 3);
  EXPECT_EQ(UniformLevels::Round(0.8f, 4, 0.19f), 4);
  EXPECT_EQ(UniformLevels::Round(0.6f, 4, 0.41f), 2);
  EXPECT_EQ(UniformLevels::Round(0.8f, 4, 0.21f), 3);
  // Levels 0, 1/4, 1/2, 1.
  EXPECT_EQ(ExponentialLevels::Round(0.6f, 3, 0.19f), 3);
  EXPECT_EQ(ExponentialLevels::Round(0.8f, 3, 0.61f), 2);
  // v = (0.5, -2, 0), largest 2, 4 bits: places 1.75, 7, 0.
  EXPECT_EQ(UniformLevels::Round(0.25f, 7, 0.74f), 2);
  EXPECT_EQ(UniformLevels::Round(1.0f, 7, 0.0f), 7);
  EXPECT_EQ(UniformLevels::Round(0.0f, 7, 0.0f), 0);
}

TEST(LevelsTest, LevelsAreExact) {
  constexpr float kAlmostOne = 0.99999994f;
  for (int s = 1; s <= 127; ++s) {
    for (int level = 0; level <= s; ++level) {
      for (const float draw : {0.0f, kAlmostOne}) {
        const float exact = ExponentialLevels::Value(level, s);
        EXPECT_EQ(ExponentialLevels::Round(exact, s, draw), level) << s;
      }
    }
    for (const float draw : {0.0f, kAlmostOne}) {
      EXPECT_EQ(UniformLevels::Round(1.0f, s, draw), s);
      EXPECT_EQ(UniformLevels::Round(0.0f, s, draw), 0);
    }
  }
}

struct Case {
  const char* code;
  int bits;
  bool euclidean;
};

// The two values that an element may become.
struct Neighbours {
  double low;
  double high;
};

// By plain search through the levels, from the specification's section 0.
Neighbours NeighboursOf(const Case& c, double magnitude, double norm) {
  std::vector<double> levels = {0};
  const std::string code = c.code;
  if (code == "natural") {
    norm = 1;
    for (int e = -126; e <= 127; ++e) levels.push_back(std::ldexp(1, e));
  } else if (code == "nuqsgd") {
    for (int e = -((1 << (c.bits - 1)) - 2); e <= 0; ++e) {
      levels.push_back(std::ldexp(1, e));
    }
  } else {
    const int s = code == "ternary" ? 1 : (1 << (c.bits - 1)) - 1;
    for (int j = 1; j <= s; ++j) levels.push_back(double{1} * j / s);
  }
  const double r = magnitude / norm;
  size_t j = 0;
  while (j + 2 < levels.size() && levels[j + 1] <= r) ++j;
  return {norm * levels[j], norm * levels[j + 1]};
}

double Norm(const Case& c, const std::vector<float>& v, int64_t begin,
            int64_t end) {
  double sum_squares = 0;
  double largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    sum_squares += double{v[i]} * v[i];
    largest = std::max(largest, std::fabs(double{v[i]}));
  }
  return static_cast<float>(c.euclidean ? std::sqrt(sum_squares) : largest);
}

class RandomRoundingTest : public testing::TestWithParam<Case> {};

TEST_P(RandomRoundingTest, IsUnbiasedWithTheExactVarianceAndIndependent) {
  constexpr int64_t kSize = 90;
  constexpr int kTimes = 5000;
  const Case& c = GetParam();
  const int64_t bucket = std::string(c.code) == "ternary" ? kSize : 32;
  std::vector<float> v = MakeVector("laplace", kSize, 5);
  v[3] = 0;
  PayloadCodes codes = ValueCodes(c.code);
  codes.value_config.set_bits(c.bits);
  codes.value_config.set_bucket_size(bucket);
  codes.value_config.set_clip(0);

  std::vector<Neighbours> near(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    const int64_t begin = i / bucket * bucket;
    near[i] = NeighboursOf(c, std::fabs(v[i]),
                           Norm(c, v, begin, std::min(begin + bucket, kSize)));
  }
  std::vector<double> sum(kSize, 0);
  double squared_error = 0;
  double sum_of_signed = 0;
  double squares_of_signed = 0;
  for (int t = 0; t < kTimes; ++t) {
    const CodedValues coded = Code(codes, v, 1000 + t);
    double signed_error = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      const double q = coded.decoded[i];
      const double magnitude = std::fabs(q);
      const double slack = 1e-6 * near[i].high;
      ASSERT_TRUE(std::fabs(magnitude - near[i].low) <= slack ||
                  std::fabs(magnitude - near[i].high) <= slack)
          << v[i] << " became " << q;
      ASSERT_TRUE(q == 0 || (q < 0) == (v[i] < 0));
      sum[i] += q;
      squared_error += (q - v[i]) * (q - v[i]);
      signed_error += (v[i] < 0 ? -1 : 1) * (q - v[i]);
    }
    sum_of_signed += signed_error;
    squares_of_signed += signed_error * signed_error;
  }

  double variance = 0;           // Of all elements together.
  double variance_of_error = 0;  // Of the squared error.
  for (int64_t i = 0; i < kSize; ++i) {
    const double width = near[i].high - near[i].low;
    const double f = (std::fabs(v[i]) - near[i].low) / width;
    const double each = width * width * f * (1 - f);
    variance += each;
    variance_of_error += each * width * width * (1 - 2 * f) * (1 - 2 * f);
    // The mean is close to normal only where both values turn up often.
    if (kTimes * std::min(f, 1 - f) < 15) continue;
    EXPECT_LT(std::fabs(sum[i] / kTimes - v[i]), 6 * std::sqrt(each / kTimes))
        << "element " << i << ", " << v[i];
  }
  EXPECT_LT(std::fabs(sum_of_signed / kTimes), 6 * std::sqrt(variance / kTimes))
      << "a bias that all elements share";
  EXPECT_LT(std::fabs(squared_error / kTimes - variance),
            6 * std::sqrt(variance_of_error / kTimes) + 1e-6 * variance)
      << "a wrong norm, bucket or number of levels";
  // One draw for several elements would multiply this.
  EXPECT_NEAR(squares_of_signed / kTimes / variance, 1,
              6 * std::sqrt(2.0 / kTimes) + 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomRoundingTest,
    testing::Values(Case{"qsgd", 2, true}, Case{"qsgd", 4, true},
                    Case{"qsgdinf", 2, false}, Case{"qsgdinf", 3, false},
                    Case{"qsgdinf", 8, false}, Case{"nuqsgd", 3, true},
                    Case{"nuqsgd", 4, true}, Case{"ternary", 0, false},
                    Case{"natural", 0, false}),
    [](const testing::TestParamInfo<Case>& info) {
      return std::string(info.param.code) + std::to_string(info.param.bits);
    });

// Worst case of QSGD with `s` levels and NUQSGD with s = 2^levels: bound (B) of
// the specification, derived there and sharper than the papers'.
double WorstVariance(double s, double d) {
  const double b = std::sqrt(d) / s;
  return b <= 2.25 ? 1.0 / 8 + 2 * b * b / 9 : b - 1;
}

double RelativeVariance(const PayloadCodes& codes, const std::vector<float>& v,
                        int times) {
  double error = 0;
  for (int t = 0; t < times; ++t) {
    error += SquaredDistance(Code(codes, v, 77 + t).decoded, v);
  }
  return error / times / SquaredDistance(v, std::vector<float>(v.size(), 0.0f));
}

TEST(RelativeVarianceTest, StaysBelowTheWorstCase) {
  constexpr int kBucket = 512;
  for (const char* law : {"gaussian", "laplace", "heavy", "constant"}) {
    const std::vector<float> v = MakeVector(law, 40 * kBucket, 9);
    for (const int bits : {2, 3, 4, 6}) {
      PayloadCodes codes = ValueCodes("qsgd");
      codes.value_config.set_bits(bits);
      const int levels = (1 << (bits - 1)) - 1;
      // 20 000 elements leave a few per cent of spread.
      EXPECT_LE(RelativeVariance(codes, v, 5),
                1.05 * WorstVariance(levels, kBucket));
      codes.value_code = "nuqsgd";
      EXPECT_LE(RelativeVariance(codes, v, 5),
                1.05 * WorstVariance(std::ldexp(1, levels - 1), kBucket));
    }
  }
}

TEST(RelativeVarianceTest, GaussianFiguresOfTheSpecification) {
  const std::vector<float> v = MakeVector("gaussian", 200 * 512, 3);
  const auto relative = [&v](const char* code, int bits) {
    PayloadCodes codes = ValueCodes(code);
    codes.value_config.set_bits(bits);
    return RelativeVariance(codes, v, 3);
  };
  // Table of section 3.5, bucket 512.
  EXPECT_NEAR(relative("qsgd", 2), 17.1, 0.4);
  EXPECT_NEAR(relative("qsgd", 4), 1.58, 0.04);
  EXPECT_NEAR(relative("qsgdinf", 2), 1.58, 0.04);
  EXPECT_NEAR(relative("qsgdinf", 4), 0.036, 0.002);
  EXPECT_NEAR(relative("nuqsgd", 3), 3.52, 0.1);
  EXPECT_NEAR(relative("nuqsgd", 4), 0.087, 0.003);
  EXPECT_NEAR(relative("natural", 4), 0.082, 0.003);
}

TEST(TernaryTest, IsQsgdInfOfOneLevelWhenNothingIsClipped) {
  const std::vector<float> v = MakeVector("laplace", 4100, 2);
  PayloadCodes ternary = ValueCodes("ternary");
  ternary.value_config.set_clip(0);
  PayloadCodes qsgdinf = ValueCodes("qsgdinf");
  qsgdinf.value_config.set_bits(2);
  qsgdinf.value_config.set_bucket_size(5000);
  EXPECT_EQ(Code(ternary, v, 8).decoded, Code(qsgdinf, v, 8).decoded);
}

TEST(TernaryTest, ClippingCutsTheVariance) {
  const std::vector<float> v = MakeVector("gaussian", 200000, 4);
  // Section 5.4: variance 1.0 and squared bias 0.0027.
  EXPECT_NEAR(RelativeVariance(ValueCodes("ternary"), v, 2), 1.0, 0.03);
}

}  // namespace
}  // namespace ps
