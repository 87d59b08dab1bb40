#include "tools/bench/push_pull/pushed_values.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 1000;

std::vector<float> Pushed(int rank, int num_workers) {
  std::vector<float> values(kElements);
  FillPushedValues(rank, num_workers, /*begin=*/0, absl::MakeSpan(values));
  return values;
}

// First weights minus a multiple of the workers' mean.
std::vector<float> WeightsAfter(int pushes, int num_workers) {
  std::vector<float> weights(kElements);
  FillFirstWeights(absl::MakeSpan(weights));
  for (int push = 0; push < pushes; ++push) {
    for (int64_t i = 0; i < kElements; ++i) {
      float sum = 0;
      for (int rank = 0; rank < num_workers; ++rank) {
        sum += Pushed(rank, num_workers)[i];
      }
      weights[i] -= sum / static_cast<float>(num_workers);
    }
  }
  return weights;
}

ExpectedValues AfterPushes(int pushes) {
  ExpectedValues expected;
  expected.first = 1;
  expected.mean = -pushes;
  return expected;
}

TEST(PushedValues, WeightsOfAPlainLoopAreAsExpected) {
  for (const int num_workers : {1, 2, 3, 5}) {
    EXPECT_TRUE(CheckValues(WeightsAfter(4, num_workers), AfterPushes(4)).ok())
        << num_workers;
  }
}

TEST(PushedValues, APushTooManyOrTooFewIsWrong) {
  EXPECT_FALSE(CheckValues(WeightsAfter(3, 2), AfterPushes(4)).ok());
  EXPECT_FALSE(CheckValues(WeightsAfter(5, 2), AfterPushes(4)).ok());
}

TEST(PushedValues, WorkersPushDifferentThings) {
  EXPECT_NE(Pushed(0, 2), Pushed(1, 2));
  // The part of one of two workers is not the mean.
  EXPECT_FALSE(CheckValues(Pushed(0, 2), {/*first=*/0, /*mean=*/1}).ok());
  EXPECT_TRUE(CheckValues(Pushed(0, 1), {/*first=*/0, /*mean=*/1}).ok());
}

TEST(PushedValues, APartInTheWrongPlaceIsWrong) {
  std::vector<float> values = Pushed(0, 1);
  // Two parts of 256 elements, exchanged.
  std::swap_ranges(values.begin(), values.begin() + 256, values.begin() + 256);
  EXPECT_FALSE(CheckValues(values, {/*first=*/0, /*mean=*/1}).ok());
}

TEST(PushedValues, APartIsFilledAsItStandsInTheWhole) {
  std::vector<float> part(100);
  FillPushedValues(/*rank=*/1, /*num_workers=*/3, /*begin=*/500,
                   absl::MakeSpan(part));
  const std::vector<float> whole = Pushed(1, 3);
  EXPECT_EQ(part, std::vector<float>(whole.begin() + 500, whole.begin() + 600));
}

TEST(PushedValues, TheFirstWrongElementIsNamedAndRoundingIsNot) {
  std::vector<float> values = WeightsAfter(0, 1);
  values[20] *= 1 + std::numeric_limits<float>::epsilon();
  EXPECT_TRUE(CheckValues(values, AfterPushes(0)).ok());
  values[21] += 0.01f;
  values[22] = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = CheckValues(values, AfterPushes(0));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "element 21 of 1000 is 10.01; must be 10");
  values[21] = 10;
  EXPECT_THAT(CheckValues(values, AfterPushes(0)).message(),
              HasSubstr("element 22 of 1000 is nan"));
}

TEST(PushedValues, SumsAtTheLimitsAreExactInFloat) {
  // The largest sum that plain TCP adds up, and the partial sums on the way,
  // with room for one worker that is a round of 100 iterations ahead of all
  // others.
  const double mean = 13;
  const double ahead = 101 * kMaxBenchWorkers * (mean + kMaxBenchWorkers);
  EXPECT_LT(mean * kMaxBenchWorkers * kMaxBenchPushes + ahead, 1 << 24);
}

}  // namespace
}  // namespace ps
