// Compares with the exact quantiles of the same values, sorted.
#include "tools/bench/load/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

double ExactQuantile(std::vector<int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank =
      static_cast<int64_t>(std::ceil(q * static_cast<double>(values.size())));
  return static_cast<double>(values[std::max<int64_t>(rank, 1) - 1]);
}

constexpr double kQuantiles[] = {0,    0.001, 0.1,    0.5, 0.9,
                                 0.99, 0.999, 0.9999, 1.0};

TEST(LatencyHistogram, QuantilesAreWithinTheStatedErrorOfTheExactOnes) {
  RandomStream random(RandomKey(7));
  const std::function<double()> laws[] = {
      [&] { return random.Uniform(0, 1e6); },
      // Four orders of magnitude, as in latencies.
      [&] { return std::exp(random.Uniform(std::log(1e4), std::log(1e8))); },
      [&] { return 1e6 * std::exp(2 * random.Normal()); },
      [&] { return random.Uniform(0, 100); },
      [&] { return 123456789.0; },
      [&] { return random.Uniform() < 0.5 ? 1000.0 : 1e9; },
  };
  int law = 0;
  for (const auto& draw : laws) {
    LatencyHistogram histogram;
    std::vector<int64_t> values;
    for (int i = 0; i < 20000; ++i) {
      values.push_back(static_cast<int64_t>(draw()));
      histogram.Add(values.back());
    }
    EXPECT_EQ(histogram.count(), 20000);
    EXPECT_EQ(histogram.largest(),
              *std::max_element(values.begin(), values.end()));
    for (const double q : kQuantiles) {
      const double exact = ExactQuantile(values, q);
      EXPECT_NEAR(histogram.Quantile(q), exact,
                  LatencyHistogram::kRelativeError * exact)
          << "law " << law << ", quantile " << q;
    }
    ++law;
  }
}

TEST(LatencyHistogram, EveryValueIsWithinTheErrorAlsoAtTheEndsOfBuckets) {
  for (int64_t power = 1; power < LatencyHistogram::kLargest; power *= 2) {
    for (const int64_t value : {power - 1, power, power + 1, power + power / 2,
                                power + power / 64, 2 * power - 1}) {
      LatencyHistogram histogram;
      histogram.Add(value);
      // Not the largest value, which is exact.
      histogram.Add(LatencyHistogram::kLargest);
      EXPECT_NEAR(histogram.Quantile(0.5), static_cast<double>(value),
                  LatencyHistogram::kRelativeError * static_cast<double>(value))
          << value;
    }
  }
}

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int64_t value = 0; value < 64; ++value) histogram.Add(value);
  for (int64_t value = 0; value < 64; ++value) {
    EXPECT_EQ(histogram.Quantile(static_cast<double>(value + 1) / 64), value);
  }
}

TEST(LatencyHistogram, OfNothingEverythingIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.largest(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
}

TEST(LatencyHistogram, ValuesBeyondTheEndsCountAsTheEnds) {
  LatencyHistogram histogram;
  histogram.Add(-5);
  EXPECT_EQ(histogram.Quantile(1), 0);
  histogram.Add(LatencyHistogram::kLargest + 1000);
  EXPECT_EQ(histogram.largest(), LatencyHistogram::kLargest);
  EXPECT_EQ(histogram.count(), 2);
}

TEST(LatencyHistogram, TheSumIsThatOfAllValues) {
  RandomStream random(RandomKey(8));
  LatencyHistogram all, first, second;
  for (int i = 0; i < 1000; ++i) {
    const auto value = static_cast<int64_t>(random.Below(1000000));
    all.Add(value);
    (i % 3 == 0 ? first : second).Add(value);
  }
  first.Add(second);
  EXPECT_EQ(first.Numbers(), all.Numbers());
  EXPECT_EQ(first.count(), 1000);
}

TEST(LatencyHistogram, NumbersComeBack) {
  LatencyHistogram histogram;
  for (const int64_t value : {3, 3, 1000, 123456789}) histogram.Add(value);
  const auto back = LatencyHistogram::FromNumbers(histogram.Numbers());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->Numbers(), histogram.Numbers());
  EXPECT_EQ(back->count(), 4);
  EXPECT_EQ(back->largest(), 123456789);
  EXPECT_EQ(back->Quantile(0.75), histogram.Quantile(0.75));
}

TEST(LatencyHistogram, OtherNumbersAreRefused) {
  const std::vector<std::vector<int64_t>> wrong = {
      {},
      {5, 1},
      {-1},
      {5, -1, 1},
      {5, 1 << 20, 1},
      {5, 1, 0},
      {5, 1, 2, 1, 2},
      {int64_t{1} << 60},
  };
  for (const auto& numbers : wrong) {
    EXPECT_EQ(LatencyHistogram::FromNumbers(numbers).status().code(),
              absl::StatusCode::kInvalidArgument)
        << numbers.size();
  }
}

}  // namespace
}  // namespace ps
