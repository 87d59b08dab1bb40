#include "tools/bench/network/bandwidth_stages.h"

#include <optional>

#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr int64_t kSlow = 100'000'000;
constexpr int64_t kFast = 1'000'000'000;

TEST(BandwidthStages, EachLastsForItsWarmUpAndItsTimedIterations) {
  BandwidthStages stages({kSlow, kFast}, /*warm_up=*/2, /*timed=*/3);
  EXPECT_EQ(stages.Due(0), std::nullopt);
  EXPECT_EQ(stages.Due(4), std::nullopt);
  EXPECT_EQ(stages.Due(5), kFast);
  stages.Set(5);
  EXPECT_FALSE(stages.all_timed());
  EXPECT_EQ(stages.Due(9), std::nullopt);
  EXPECT_EQ(stages.Due(10), BandwidthStages::kNoLimit);
  stages.Set(10);
  EXPECT_TRUE(stages.all_timed());
  EXPECT_EQ(stages.Due(1000), std::nullopt);
  EXPECT_EQ(stages.Timed(0).begin, 2);
  EXPECT_EQ(stages.Timed(0).end, 5);
  EXPECT_EQ(stages.Timed(1).begin, 7);
  EXPECT_EQ(stages.Timed(1).end, 10);
}

TEST(BandwidthStages, WhatIsTimedFollowsWhenTheLinksReallyChanged) {
  BandwidthStages stages({kSlow, kFast}, /*warm_up=*/1, /*timed=*/2);
  // Nothing was checked between iterations 2 and 8.
  EXPECT_EQ(stages.Due(8), kFast);
  stages.Set(8);
  EXPECT_EQ(stages.Timed(0).end, 3);
  EXPECT_EQ(stages.Timed(1).begin, 9);
  EXPECT_EQ(stages.Timed(1).end, 11);
  EXPECT_EQ(stages.Due(10), std::nullopt);
  EXPECT_EQ(stages.Due(11), BandwidthStages::kNoLimit);
}

TEST(BandwidthStages, WhatIsNotReachedHasNoIterations) {
  const BandwidthStages stages({kSlow, kFast}, 1, 2);
  EXPECT_EQ(stages.Timed(1).begin, stages.Timed(1).end);
}

TEST(BandwidthStages, WithoutTimedIterationsTheFirstLastsToTheEnd) {
  const BandwidthStages stages({kSlow}, /*warm_up=*/4, /*timed=*/0);
  EXPECT_EQ(stages.Due(1'000'000), std::nullopt);
  EXPECT_EQ(stages.Timed(0).begin, 4);
  EXPECT_GT(stages.Timed(0).end, 1'000'000'000);
}

}  // namespace
}  // namespace ps
