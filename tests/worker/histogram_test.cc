// Histograms for TensorBoard, against counting one element after the other.
#include "worker/tensorboard/histogram.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bucket i has the values above limit i - 1 and not above limit i; the values
// below 0 lie the other way round, so that a limit belongs to the one nearer
// to 0.
double CountIn(const std::vector<float>& values, double low, double high) {
  double count = 0;
  for (const float value : values) {
    const bool inside =
        value < 0 ? low <= value && value < high : low < value && value <= high;
    if (inside) ++count;
  }
  return count;
}

TEST(HistogramOf, CountsEveryElementOnce) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.01f);
  std::vector<float> values(10000);
  for (float& value : values) value = normal(random);
  for (const double threshold : {0.0, 0.02, 1e-30, 0.5, 1e300}) {
    const TensorBoardHistogram histogram = HistogramOf(values, threshold);
    double count = 0;
    for (int i = 0; i < histogram.bucket_size(); ++i) {
      const double high = histogram.bucket_limit(i);
      const double low = i == 0 ? -kInfinity : histogram.bucket_limit(i - 1);
      ASSERT_LT(low, high);
      EXPECT_EQ(histogram.bucket(i), CountIn(values, low, high))
          << low << " to " << high;
      count += histogram.bucket(i);
    }
    EXPECT_EQ(count, 10000);
    EXPECT_EQ(histogram.num(), 10000);
  }
}

TEST(HistogramOf, TheThresholdIsALimitOfEitherSign) {
  const double threshold = 0.3f;
  const TensorBoardHistogram histogram =
      HistogramOf({0.3f, 0.30001f, 0.29999f, -0.30001f, -0.3f}, threshold);
  double above = 0;
  double below = 0;
  for (int i = 0; i < histogram.bucket_size(); ++i) {
    if (histogram.bucket_limit(i) > threshold) above += histogram.bucket(i);
    if (histogram.bucket_limit(i) <= -threshold) below += histogram.bucket(i);
  }
  EXPECT_EQ(above, 1);
  EXPECT_EQ(below, 1);
}

TEST(HistogramOf, SumsAndExtremesAreThoseOfTheFiniteElements) {
  const TensorBoardHistogram histogram =
      HistogramOf({1, -2, 0, kInfinity, -kInfinity, std::nanf(""), 1e-42f}, 0);
  EXPECT_EQ(histogram.num(), 4);
  EXPECT_EQ(histogram.min(), -2);
  EXPECT_EQ(histogram.max(), 1);
  EXPECT_NEAR(histogram.sum(), -1, 1e-12);
  EXPECT_NEAR(histogram.sum_squares(), 5, 1e-12);
}

TEST(HistogramOf, WithoutElementsIsEmpty) {
  EXPECT_EQ(HistogramOf({}, 1).bucket_size(), 0);
  EXPECT_EQ(HistogramOf({std::nanf("")}, 1).num(), 0);
}

// Long stretches without elements take one bucket.
TEST(HistogramOf, IsSmall) {
  EXPECT_LE(HistogramOf({-1e20f, -1e-20f, 1e-20f, 1e20f}, 0).bucket_size(), 12);
}

}  // namespace
}  // namespace ps
