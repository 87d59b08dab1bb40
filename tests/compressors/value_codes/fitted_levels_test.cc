// Levels fitted to a sample: the error never rises, and each step is optimal.
#include "compressors/value_codes/fitted_levels.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compressors/value_codes/levels.h"
#include "gtest/gtest.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

// Magnitudes of n values divided by the norm of d of them; some have more
// weight.
std::vector<uint64_t> Sample(const std::string& law, int64_t n, int64_t d) {
  const std::vector<float> values = MakeVector(law, n, 3);
  double sum_squares = 0;
  for (const float value : values) sum_squares += double{value} * value;
  const double norm = std::sqrt(sum_squares * d / n);
  std::vector<uint64_t> sample(n);
  for (int64_t i = 0; i < n; ++i) {
    sample[i] = WeightedMagnitude(
        static_cast<float>(std::min(1.0, std::fabs(values[i]) / norm)),
        i % 3 == 0 ? 1.5f : 1.0f);
  }
  return sample;
}

TEST(WeightedMagnitudeTest, AscendsWithMagnitudeAndThenWithWeight) {
  constexpr float kLargest = 0x1.fffffep127f;
  const std::vector<uint64_t> ascending = {
      WeightedMagnitude(0, 0),         WeightedMagnitude(0, 0x1p-149f),
      WeightedMagnitude(0, kLargest),  WeightedMagnitude(0x1p-149f, 0),
      WeightedMagnitude(0x1p-126f, 1), WeightedMagnitude(0.5f, 1),
      WeightedMagnitude(0.5f, 2),      WeightedMagnitude(0.75f, 0.25f),
      WeightedMagnitude(1, 0x1p-149f), WeightedMagnitude(1, kLargest)};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_EQ(MagnitudeOf(ascending[7]), 0.75f);
  EXPECT_EQ(WeightOf(ascending[7]), 0.0625);
  EXPECT_EQ(WeightOf(ascending[8]), 0x1p-298);
}

// The error that the fit lowers, computed directly.
double Error(const std::vector<uint64_t>& sample,
             const std::vector<float>& levels) {
  double error = 0;
  for (const uint64_t each : sample) {
    const double r = MagnitudeOf(each);
    size_t j = 0;
    while (j + 2 < levels.size() && levels[j + 1] <= r) ++j;
    error += WeightOf(each) * (r - levels[j]) * (levels[j + 1] - r);
  }
  return error;
}

TEST(FittedLevelsTest, NoSweepRaisesTheError) {
  for (const char* law : {"gaussian", "laplace", "heavy", "sparse"}) {
    for (const int s : {1, 3, 7, 15, 127}) {
      const auto sample = Sample(law, 1500, 8192);
      double before = Error(sample, FitLevels(sample, s, /*sweeps=*/0));
      const double first = before;
      for (int sweeps = 1; sweeps <= kLevelFitSweeps; ++sweeps) {
        const std::vector<float> levels = FitLevels(sample, s, sweeps);
        ASSERT_EQ(levels.size(), static_cast<size_t>(s) + 1);
        ASSERT_EQ(levels.front(), 0);
        ASSERT_EQ(levels.back(), 1);
        for (int i = 0; i < s; ++i) ASSERT_LT(levels[i], levels[i + 1]);
        const double error = Error(sample, levels);
        ASSERT_LE(error, before * (1 + 1e-12)) << law << s << ", " << sweeps;
        before = error;
      }
      if (s > 1) {
        EXPECT_LT(before, 0.5 * first) << law << s;
      }
    }
  }
}

TEST(FittedLevelsTest, ALevelIsTheBestOfAllPlaces) {
  for (const char* law : {"gaussian", "laplace", "heavy"}) {
    const auto sample = Sample(law, 200, 20);
    const std::vector<float> levels = FitLevels(sample, 2, /*sweeps=*/1);
    const double error = Error(sample, levels);
    for (int i = 1; i < 2000; ++i) {
      EXPECT_GE(Error(sample, {0, i / 2000.0f, 1}), error * (1 - 1e-12));
    }
  }
}

TEST(FittedLevelsTest, WithNothingToFitLevelsAreThoseOfNuqsgd) {
  const std::vector<float> expected = {0, 0.25, 0.5, 1};
  EXPECT_EQ(FitLevels({}, 3), expected);
  EXPECT_EQ(FitLevels({WeightedMagnitude(0, 1), WeightedMagnitude(1, 1),
                       WeightedMagnitude(1, 1)},
                      3),
            expected);
}

// Reference figures; before the fit the error is 17.1.
TEST(FittedLevelsTest, GaussianFiguresOfTheSpecification) {
  const auto relative = [](int s, int sweeps) {
    const auto sample = Sample("gaussian", 100000, 8192);
    double squares = 0;
    for (const uint64_t each : sample) {
      squares += WeightOf(each) * MagnitudeOf(each) * MagnitudeOf(each);
    }
    return Error(sample, FitLevels(sample, s, sweeps)) / squares;
  };
  EXPECT_NEAR(relative(3, 0), 17.1, 0.2);
  EXPECT_NEAR(relative(3, kLevelFitSweeps), 0.348, 0.007);
  EXPECT_NEAR(relative(7, 0), 0.335, 0.01);
  EXPECT_NEAR(relative(7, kLevelFitSweeps), 0.0385, 0.0015);
}

}  // namespace
}  // namespace ps
