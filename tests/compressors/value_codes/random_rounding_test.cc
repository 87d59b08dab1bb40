// Codes that round at random: unbiased, with exactly the variance of two-point
// rounding, and independent between elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "common/random.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox.h"
#include "gtest/gtest.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

TEST(PhiloxTest, KnownAnswers) {
  // Values from the authors' Random123.
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

constexpr int64_t kSize = 90;
constexpr int64_t kBucket = 32;
constexpr int kTimes = 5000;

PayloadCodes CodesOf(const Case& c) {
  PayloadCodes codes = ValueCodes(c.code);
  codes.value_config.set_bits(c.bits);
  codes.value_config.set_bucket_size(kBucket);
  codes.value_config.set_clip(0);
  return codes;
}

// The levels by definition. The levels of `alq` are those that it sends: fitted
// to all of so few values, they are the same every time.
std::vector<double> Levels(const Case& c, const std::vector<float>& v) {
  std::vector<double> levels = {0};
  const std::string code = c.code;
  const int s = c.bits == 0 ? 1 : (1 << (c.bits - 1)) - 1;
  if (code == "natural") {
    for (int e = -126; e <= 127; ++e) levels.push_back(std::ldexp(1, e));
  } else if (code == "nuqsgd" || code == "natural_dithering") {
    for (int e = 1 - s; e <= 0; ++e) levels.push_back(std::ldexp(1, e));
  } else if (code == "alq") {
    const std::string bytes = Code(CodesOf(c), v).value_bytes();
    for (int j = 1; j < s; ++j) {
      float sent = 0;
      std::memcpy(&sent, &bytes[4 + 4 * j], sizeof(sent));
      levels.push_back(sent);
    }
    levels.push_back(1);
  } else {
    for (int j = 1; j <= s; ++j) levels.push_back(double{1} * j / s);
  }
  return levels;
}

double Norm(const Case& c, const std::vector<float>& v, int64_t begin,
            int64_t end) {
  if (std::string(c.code) == "natural") return 1;
  double sum_squares = 0;
  double largest = 0;
  for (int64_t i = begin; i < end; ++i) {
    sum_squares += double{v[i]} * v[i];
    largest = std::max(largest, std::fabs(double{v[i]}));
  }
  return static_cast<float>(c.euclidean ? std::sqrt(sum_squares) : largest);
}

// The two values that an element may be rounded to.
struct Neighbours {
  double low;
  double high;

  double Place(double magnitude) const {
    return (magnitude - low) / (high - low);
  }
};

std::vector<Neighbours> NeighboursOf(const Case& c,
                                     const std::vector<float>& v) {
  const std::vector<double> levels = Levels(c, v);
  const int64_t n = static_cast<int64_t>(v.size());
  const int64_t bucket = std::string(c.code) == "ternary" ? n : kBucket;
  std::vector<Neighbours> near;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = i / bucket * bucket;
    const double norm = Norm(c, v, begin, std::min(begin + bucket, n));
    const double r = std::fabs(v[i]) / norm;
    size_t j = 0;
    while (j + 2 < levels.size() && levels[j + 1] <= r) ++j;
    near.push_back({norm * levels[j], norm * levels[j + 1]});
  }
  return near;
}

// Statistics of rounding v many times. Each z is a deviation in units of the
// standard deviation; for a correct code none reaches 6.
struct RoundingStatistics {
  int64_t off_level = 0;      // Values that are neither of the two.
  double element_bias_z = 0;  // The largest over all elements.
  double shared_bias_z = 0;   // Of all elements together, away from 0.
  double variance_z = 0;
  double dependence_z = 0;  // Elements that move together or against another.

  bool Sound() const {
    return off_level == 0 && element_bias_z < 6 && shared_bias_z < 6 &&
           variance_z < 6 && dependence_z < 6;
  }
};

std::ostream& operator<<(std::ostream& out, const RoundingStatistics& s) {
  return out << s.off_level << " off their levels; z of bias "
             << s.element_bias_z << " and " << s.shared_bias_z
             << ", of variance " << s.variance_z << ", of dependence "
             << s.dependence_z;
}

// round(t): the t-th rounding of v.
template <typename Round>
RoundingStatistics Measure(const std::vector<float>& v,
                           const std::vector<Neighbours>& near, Round round) {
  RoundingStatistics statistics;
  std::vector<double> sum(v.size(), 0);
  double squared_error = 0;
  double sum_of_signed = 0;
  double squares_of_signed = 0;
  for (int t = 0; t < kTimes; ++t) {
    const std::vector<float> rounded = round(t);
    double signed_error = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      const double q = rounded[i];
      const double slack = 1e-6 * near[i].high;
      const bool neighbour = std::fabs(std::fabs(q) - near[i].low) <= slack ||
                             std::fabs(std::fabs(q) - near[i].high) <= slack;
      const bool same_sign = q == 0 || (q < 0) == (v[i] < 0);
      statistics.off_level += !neighbour || !same_sign;
      sum[i] += q;
      squared_error += (q - v[i]) * (q - v[i]);
      signed_error += (v[i] < 0 ? -1 : 1) * (q - v[i]);
    }
    sum_of_signed += signed_error;
    squares_of_signed += signed_error * signed_error;
  }

  double variance = 0;           // Over all elements.
  double variance_of_error = 0;  // Variance of the squared error.
  for (size_t i = 0; i < v.size(); ++i) {
    const double width = near[i].high - near[i].low;
    const double f = near[i].Place(std::fabs(v[i]));
    const double each = width * width * f * (1 - f);
    variance += each;
    variance_of_error += each * width * width * (1 - 2 * f) * (1 - 2 * f);
    // The mean is close to normal only if both values occur often.
    if (kTimes * std::min(f, 1 - f) < 15) continue;
    statistics.element_bias_z =
        std::max(statistics.element_bias_z,
                 std::fabs(sum[i] / kTimes - v[i]) / std::sqrt(each / kTimes));
  }
  statistics.shared_bias_z =
      std::fabs(sum_of_signed / kTimes) / std::sqrt(variance / kTimes);
  // Rounding to float changes the error slightly.
  statistics.variance_z =
      std::max(0.0,
               std::fabs(squared_error / kTimes - variance) - 1e-6 * variance) /
      std::sqrt(variance_of_error / kTimes);
  statistics.dependence_z =
      std::max(0.0,
               std::fabs(squares_of_signed / kTimes / variance - 1) - 0.02) /
      std::sqrt(2.0 / kTimes);
  return statistics;
}

std::vector<float> TestVector() {
  std::vector<float> v = MakeVector("laplace", kSize, 5);
  v[3] = 0;
  return v;
}

class RandomRoundingTest : public testing::TestWithParam<Case> {};

TEST_P(RandomRoundingTest, IsUnbiasedWithTheExactVarianceAndIndependent) {
  const Case& c = GetParam();
  const std::vector<float> v = TestVector();
  const RoundingStatistics statistics =
      Measure(v, NeighboursOf(c, v),
              [&](int t) { return Code(CodesOf(c), v, 1000 + t).decoded; });
  EXPECT_TRUE(statistics.Sound()) << statistics;
}

// With the same draws the reference takes the same neighbour, except where the
// draw is within rounding of the place between them.
TEST_P(RandomRoundingTest, ReplaysTheReference) {
  const Case& c = GetParam();
  const std::vector<float> v = TestVector();
  const std::vector<Neighbours> near = NeighboursOf(c, v);
  int64_t compared = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    std::vector<float> draws(v.size());
    UniformDraws(key).Fill(0, absl::MakeSpan(draws));
    const std::vector<float> decoded = Code(CodesOf(c), v, key).decoded;
    for (size_t i = 0; i < v.size(); ++i) {
      const double f = near[i].Place(std::fabs(v[i]));
      // `natural` adds the draw to the fraction, so its draws count from the
      // top.
      const double draw =
          std::string(c.code) == "natural" ? 1 - draws[i] : draws[i];
      if (std::fabs(draw - f) < 1e-5) continue;
      const double expected = draw < f ? near[i].high : near[i].low;
      ASSERT_NEAR(std::fabs(decoded[i]), expected, 1e-6 * near[i].high)
          << v[i] << " with draw " << draws[i];
      ++compared;
    }
  }
  EXPECT_GT(compared, 17000);
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomRoundingTest,
    testing::Values(Case{"qsgd", 2, true}, Case{"qsgd", 4, true},
                    Case{"qsgdinf", 2, false}, Case{"qsgdinf", 3, false},
                    Case{"qsgdinf", 8, false}, Case{"nuqsgd", 3, true},
                    Case{"nuqsgd", 4, true}, Case{"alq", 2, true},
                    Case{"alq", 3, true}, Case{"alq", 4, true},
                    Case{"natural_dithering", 3, false},
                    Case{"natural_dithering", 4, false},
                    Case{"ternary", 0, false}, Case{"natural", 0, false}),
    [](const testing::TestParamInfo<Case>& info) {
      return std::string(info.param.code) + std::to_string(info.param.bits);
    });

TEST(NaturalTest, IsUnbiasedBelowTheSmallestNormalFloat) {
  const Case natural = {"natural", 0, false};
  const std::vector<float> v = MakeVector("denormal", kSize, 5);
  const RoundingStatistics statistics =
      Measure(v, NeighboursOf(natural, v),
              [&](int t) { return Code(CodesOf(natural), v, t).decoded; });
  EXPECT_TRUE(statistics.Sound()) << statistics;
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

// QSGDinf of 4 bits as it should be, and with faults known from other
// implementations.
struct Mutant {
  const char* fault;
  int s = 7;
  double epsilon = 0;         // Added to the norm.
  bool shared_draws = false;  // One draw for four elements.
  bool nearest = false;
  bool skewed = false;        // Draws are squares of uniform draws.
  bool whole_vector = false;  // One norm for all buckets.
};

class MutantTest : public testing::TestWithParam<Mutant> {};

// Checks that the statistics above detect the faults.
TEST_P(MutantTest, IsFoundOut) {
  const Mutant& mutant = GetParam();
  const Case c = {"qsgdinf", 4, false};
  std::vector<float> v = TestVector();
  // As small as gradients late in training, where an epsilon matters.
  for (float& each : v) each *= 1e-7f;
  const RoundingStatistics statistics =
      Measure(v, NeighboursOf(c, v), [&](int t) {
        RandomStream random(RandomKey(41, static_cast<uint64_t>(t)));
        std::vector<float> rounded(v.size());
        double draw = 0.5;
        for (int64_t i = 0; i < kSize; ++i) {
          const int64_t begin = i / kBucket * kBucket;
          const double norm =
              mutant.whole_vector
                  ? Norm(c, v, 0, kSize)
                  : Norm(c, v, begin, std::min(begin + kBucket, kSize));
          const double place =
              std::fabs(v[i]) / (norm + mutant.epsilon) * mutant.s;
          if (!mutant.nearest && !(mutant.shared_draws && i % 4 != 0)) {
            draw = random.Uniform();
            if (mutant.skewed) draw *= draw;
          }
          const double lower =
              std::min<double>(std::floor(place), mutant.s - 1);
          const double level = lower + (draw < place - lower ? 1 : 0);
          rounded[i] =
              static_cast<float>((v[i] < 0 ? -norm : norm) * level / mutant.s);
        }
        return rounded;
      });
  EXPECT_EQ(statistics.Sound(), mutant.fault == std::string("none"))
      << statistics;
}

std::vector<Mutant> Mutants() {
  std::vector<Mutant> mutants;
  const auto add = [&mutants](const char* fault) {
    mutants.push_back({fault});
    return &mutants.back();
  };
  add("none");
  add("epsilon")->epsilon = 1e-7;
  add("shared_draws")->shared_draws = true;
  add("nearest")->nearest = true;
  add("skewed")->skewed = true;
  add("whole_vector")->whole_vector = true;
  add("a_level_more")->s = 8;
  add("a_level_less")->s = 6;
  return mutants;
}

INSTANTIATE_TEST_SUITE_P(All, MutantTest, testing::ValuesIn(Mutants()),
                         [](const testing::TestParamInfo<Mutant>& info) {
                           return std::string(info.param.fault);
                         });

}  // namespace
}  // namespace ps
