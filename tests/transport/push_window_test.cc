// Which pushes may be sent, and that nobody waits for ever.
#include "transport/push_window.h"

#include <algorithm>
#include <cstdint>
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

std::vector<int64_t> StartAll(PushWindow* window) {
  std::vector<int64_t> started;
  while (const std::optional<int64_t> next = window->Next()) {
    started.push_back(*next);
  }
  return started;
}

TEST(PushWindow, StaysWithinItsCredit) {
  PushWindow window(/*credit_bytes=*/100);
  for (int64_t number = 0; number < 5; ++number) window.Add(number, 30, 0);
  // The last 30 bytes are reserved for whichever push will be the lowest.
  EXPECT_THAT(StartAll(&window), ElementsAre(0, 1));
  EXPECT_EQ(window.bytes_under_way(), 60);
  window.Answered(0);
  EXPECT_THAT(StartAll(&window), ElementsAre(2));
  window.Answered(2);
  window.Answered(1);
  EXPECT_THAT(StartAll(&window), ElementsAre(3, 4));
}

TEST(PushWindow, TheLowestGoesFirstThenTheMostUrgent) {
  PushWindow window(/*credit_bytes=*/40);
  window.Add(0, 10, /*urgency=*/0);
  window.Add(1, 10, /*urgency=*/1);
  window.Add(2, 10, /*urgency=*/2);
  window.Add(3, 10, /*urgency=*/2);
  EXPECT_THAT(StartAll(&window), ElementsAre(0, 2, 3));
}

TEST(PushWindow, OneLongerThanTheCreditGoesAlone) {
  PushWindow window(/*credit_bytes=*/10);
  window.Add(0, 50, 0);
  window.Add(1, 50, 0);
  EXPECT_THAT(StartAll(&window), ElementsAre(0));
  EXPECT_THAT(StartAll(&window), IsEmpty());
  window.Answered(0);
  EXPECT_THAT(StartAll(&window), ElementsAre(1));
}

// Initial weights are dense, and the pushes that follow may be tiny.
TEST(PushWindow, LongOnesOfThePastReserveNothing) {
  PushWindow window(/*credit_bytes=*/10);
  window.Add(0, 50, 0);
  EXPECT_THAT(StartAll(&window), ElementsAre(0));
  window.Answered(0);
  for (int64_t number = 1; number < 5; ++number) window.Add(number, 2, 0);
  EXPECT_THAT(StartAll(&window), ElementsAre(1, 2, 3, 4));
}

TEST(PushWindow, WhatIsAnsweredBeforeItWasSentIsForgotten) {
  PushWindow window(/*credit_bytes=*/10);
  window.Add(0, 8, 0);
  window.Add(1, 8, 0);
  window.Answered(1);
  EXPECT_THAT(StartAll(&window), ElementsAre(0));
  window.Answered(0);
  window.Answered(0);
  EXPECT_THAT(StartAll(&window), IsEmpty());
  EXPECT_EQ(window.bytes_under_way(), 0);
}

// Several workers make the same pushes, in buckets that are ready at different
// times. A push is answered once all workers have sent it. The credit is
// respected at every step, and all pushes are answered in the end.
TEST(PushWindow, WorkersWithOtherOrdersNeverWaitForEachOtherForEver) {
  constexpr int kWorkers = 3;
  constexpr int64_t kPushes = 200;
  constexpr int64_t kCredit = 100;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<int64_t> bytes(kPushes);
    std::vector<int> urgency(kPushes);
    for (int64_t i = 0; i < kPushes; ++i) {
      bytes[i] = 1 + static_cast<int64_t>(random() % 60);
      urgency[i] = static_cast<int>(random() % 4);
    }
    std::vector<PushWindow> windows(kWorkers, PushWindow(kCredit));
    std::vector<int64_t> made(kWorkers, 0);
    std::vector<std::set<int64_t>> sent(kWorkers);
    int64_t answered = 0;
    while (answered < kPushes) {
      const int64_t before = answered;
      for (int w = 0; w < kWorkers; ++w) {
        const int64_t ready =
            std::min<int64_t>(kPushes, made[w] + 1 + random() % 20);
        for (; made[w] < ready; ++made[w]) {
          windows[w].Add(made[w], bytes[made[w]], urgency[made[w]]);
        }
        for (const int64_t number : StartAll(&windows[w])) {
          sent[w].insert(number);
        }
        EXPECT_LE(windows[w].bytes_under_way(), kCredit);
      }
      for (const int64_t number : std::set<int64_t>(sent[0])) {
        const bool by_all =
            std::all_of(sent.begin(), sent.end(),
                        [&](const auto& set) { return set.count(number); });
        if (!by_all) continue;
        for (int w = 0; w < kWorkers; ++w) {
          sent[w].erase(number);
          windows[w].Answered(number);
        }
        ++answered;
      }
      const bool all_made =
          *std::min_element(made.begin(), made.end()) == kPushes;
      ASSERT_TRUE(answered > before || !all_made) << "everybody waits";
    }
  }
}

}  // namespace
}  // namespace ps
