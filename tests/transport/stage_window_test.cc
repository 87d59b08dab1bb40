// Which chunks for other workers go, and in which order.
#include "transport/stage_window.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> All(StageWindow* window) {
  std::vector<int64_t> numbers;
  while (const auto number = window->Next()) numbers.push_back(*number);
  return numbers;
}

TEST(StageWindowTest, ChunksGoAheadWithinHalfOfTheCredit) {
  StageWindow window(1000);
  for (int64_t number = 0; number < 5; ++number) window.Add(number, 0, 200);
  EXPECT_THAT(All(&window), ElementsAre(0, 1));
  window.Answered(0);
  EXPECT_THAT(All(&window), ElementsAre(2));
  window.Answered(2);
  EXPECT_THAT(All(&window), ElementsAre(3));
}

TEST(StageWindowTest, TheFirstOfEachStreamAlwaysGoes) {
  StageWindow window(1000);
  for (int64_t number = 0; number < 4; ++number) window.Add(number, 0, 250);
  window.Add(4, 1, 250);
  window.Add(5, 1, 250);
  window.Add(6, 2, 2000);
  EXPECT_THAT(All(&window), ElementsAre(0, 4, 6));
  window.Answered(4);
  EXPECT_THAT(All(&window), ElementsAre(5));
  window.Answered(0);
  EXPECT_THAT(All(&window), ElementsAre(1));
  window.Answered(6);
  EXPECT_THAT(All(&window), IsEmpty()) << "1 and 5 take half";
  window.Answered(5);
  EXPECT_THAT(All(&window), ElementsAre(2));
}

TEST(StageWindowTest, LeavesCallsToOthers) {
  StageWindow window(1 << 30);
  for (int64_t number = 0; number < 200; ++number) window.Add(number, 0, 1);
  EXPECT_EQ(All(&window).size(), 64);
  window.Add(200, 1, 1);
  EXPECT_THAT(All(&window), ElementsAre(200));
  window.Answered(200);
  window.Answered(7);
  EXPECT_THAT(All(&window), ElementsAre(64));
}

TEST(StageWindowTest, WhatWasNotSentCanBeTakenBack) {
  StageWindow window(100);
  window.Add(0, 0, 60);
  window.Add(1, 0, 60);
  EXPECT_THAT(All(&window), ElementsAre(0));
  window.Answered(1);
  window.Answered(1);
  window.Answered(0);
  EXPECT_THAT(All(&window), IsEmpty());
  window.Add(2, 0, 60);
  EXPECT_THAT(All(&window), ElementsAre(2));
}

// Whatever is sent in whatever order, with chunks as short as StageLimitsFor
// makes them: the credit is kept, and in the end all has gone.
TEST(StageWindowTest, NeverExceedsTheCredit) {
  constexpr int kStreams = 6;
  constexpr int64_t kCredit = 1200;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    StageWindow window(kCredit);
    std::map<int64_t, int64_t> sizes;
    std::vector<std::vector<int64_t>> streams(kStreams);
    std::set<int64_t> under_way;
    for (int64_t number = 0; number < 100; ++number) {
      const int stream = static_cast<int>(random() % kStreams);
      sizes[number] = 1 + static_cast<int64_t>(random() % 100);
      streams[stream].push_back(number);
      window.Add(number, stream, sizes[number]);
    }
    while (!sizes.empty()) {
      for (const int64_t number : All(&window)) under_way.insert(number);
      int64_t bytes = 0;
      for (const int64_t number : under_way) bytes += sizes[number];
      ASSERT_LE(bytes, kCredit) << seed;
      // A receiver asks for the next one of its stream.
      std::vector<int64_t>& stream = streams[random() % kStreams];
      if (stream.empty()) continue;
      ASSERT_EQ(under_way.count(stream.front()), 1) << seed;
      under_way.erase(stream.front());
      sizes.erase(stream.front());
      window.Answered(stream.front());
      stream.erase(stream.begin());
    }
  }
}

}  // namespace
}  // namespace ps
