#include "tools/bench/load/memory_growth.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

// A sample a second for 100 seconds.
ProcessMemory Memory(const std::function<int64_t(int second)>& megabytes) {
  ProcessMemory memory;
  for (int second = 0; second < 100; ++second) {
    memory.samples.push_back(
        {static_cast<double>(second), megabytes(second) * kMegabyte});
  }
  return memory;
}

TEST(MemoryGrowth, TheSamplesOfEachPartAreTold) {
  const MemoryGrowth growth = GrowthOf(Memory([](int second) {
                                         return second == 20   ? 900
                                                : second == 70 ? 950
                                                : second == 3  ? 1000
                                                               : second + 1;
                                       }),
                                       100);
  EXPECT_EQ(growth.first, 1 * kMegabyte);
  EXPECT_EQ(growth.after_tenth, 11 * kMegabyte);
  EXPECT_EQ(growth.last, 100 * kMegabyte);
  EXPECT_EQ(growth.largest, 1000 * kMegabyte);
  EXPECT_EQ(growth.largest_before_half, 900 * kMegabyte);
  EXPECT_EQ(growth.largest_after_half, 950 * kMegabyte);
}

TEST(MemoryGrowth, WhatGrowsInTheFirstTenthOnlyIsFlat) {
  EXPECT_EQ(
      GrowthOf(Memory([](int second) { return std::min(second, 10) * 100; }),
               100)
          .flat,
      true);
}

TEST(MemoryGrowth, WhatGoesUpAndDownIsFlat) {
  EXPECT_EQ(
      GrowthOf(Memory([](int second) { return 100 + 50 * (second % 7); }), 100)
          .flat,
      true);
}

TEST(MemoryGrowth, ALeakIsNotFlat) {
  // Half a megabyte a second, in a process of 200 MB.
  EXPECT_EQ(
      GrowthOf(Memory([](int second) { return 200 + second / 2; }), 100).flat,
      false);
}

TEST(MemoryGrowth, OneStepLateIsNotFlat) {
  EXPECT_EQ(
      GrowthOf(Memory([](int second) { return second < 99 ? 20 : 40; }), 100)
          .flat,
      false);
}

TEST(MemoryGrowth, TheLimitIsTwoPercentAndEightMegabytes) {
  // 1.02 x 1000 + 8.
  for (const int64_t late : {1028, 1029}) {
    EXPECT_EQ(GrowthOf(Memory([late](int second) {
                         return second < 50 ? 1000 : late;
                       }),
                       100)
                  .flat,
              late == 1028)
        << late;
  }
}

TEST(MemoryGrowth, AFewSamplesSayNothing) {
  ProcessMemory memory;
  // Two before the half, three after it.
  for (const double second : {0.0, 2.0, 3.0, 5.0, 6.0, 7.0}) {
    memory.samples.push_back({second, kMegabyte});
  }
  EXPECT_EQ(GrowthOf(memory, 10).flat, std::nullopt);
  memory.samples.insert(memory.samples.begin() + 3, {4, kMegabyte});
  EXPECT_EQ(GrowthOf(memory, 10).flat, true);
  memory.samples.pop_back();
  EXPECT_EQ(GrowthOf(memory, 10).flat, std::nullopt);
  EXPECT_EQ(GrowthOf(ProcessMemory(), 10).flat, std::nullopt);
  EXPECT_EQ(GrowthOf(ProcessMemory(), 10).largest, 0);
}

TEST(MemoryGrowth, AllAreFlatIfEachIs) {
  const ProcessMemory flat = Memory([](int) { return 100; });
  const ProcessMemory leak = Memory([](int second) { return 100 + second; });
  const ProcessMemory nothing;
  EXPECT_EQ(AllFlat({flat, flat}, 100), true);
  EXPECT_EQ(AllFlat({flat, leak}, 100), false);
  EXPECT_EQ(AllFlat({nothing, leak}, 100), false);
  EXPECT_EQ(AllFlat({flat, nothing}, 100), std::nullopt);
}

}  // namespace
}  // namespace ps
