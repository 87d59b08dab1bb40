// Which pushes may be sent, and that nobody waits for ever.
#include "transport/push_window.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> StartAll(PushWindow* window,
                              absl::Time now = absl::UnixEpoch()) {
  std::vector<int64_t> started;
  while (const std::optional<int64_t> next = window->Next(now)) {
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
  window.Answered(0, absl::UnixEpoch());
  EXPECT_THAT(StartAll(&window), ElementsAre(2));
  window.Answered(2, absl::UnixEpoch());
  window.Answered(1, absl::UnixEpoch());
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
  window.Answered(0, absl::UnixEpoch());
  EXPECT_THAT(StartAll(&window), ElementsAre(1));
}

// Initial weights are dense, and the pushes that follow may be tiny.
TEST(PushWindow, LongOnesOfThePastReserveNothing) {
  PushWindow window(/*credit_bytes=*/10);
  window.Add(0, 50, 0);
  EXPECT_THAT(StartAll(&window), ElementsAre(0));
  window.Answered(0, absl::UnixEpoch());
  for (int64_t number = 1; number < 5; ++number) window.Add(number, 2, 0);
  EXPECT_THAT(StartAll(&window), ElementsAre(1, 2, 3, 4));
}

TEST(PushWindow, WhatIsAnsweredBeforeItWasSentIsForgotten) {
  PushWindow window(/*credit_bytes=*/10);
  window.Add(0, 8, 0);
  window.Add(1, 8, 0);
  window.Answered(1, absl::UnixEpoch());
  EXPECT_THAT(StartAll(&window), ElementsAre(0));
  window.Answered(0, absl::UnixEpoch());
  window.Answered(0, absl::UnixEpoch());
  EXPECT_THAT(StartAll(&window), IsEmpty());
  EXPECT_EQ(window.bytes_under_way(), 0);
}

constexpr int64_t kSlice = 256 << 10;

// Sends slices to a server that answers at this rate and not before `latency`,
// and returns the most bytes that were in flight later than after 20 seconds.
int64_t BytesInFlight(int64_t credit_bytes, double bytes_per_second,
                      absl::Duration latency, bool needs_whole_iterations) {
  const absl::Duration a_slice = absl::Seconds(kSlice / bytes_per_second);
  const absl::Time late = absl::UnixEpoch() + absl::Seconds(20);
  const absl::Time end = late + absl::Seconds(10);
  PushWindow window(credit_bytes);
  window.SetCredit(credit_bytes, needs_whole_iterations);
  std::map<absl::Time, int64_t> answers;
  absl::Time link_is_free = absl::UnixEpoch();
  int64_t made = 0;
  int64_t started = 0;
  int64_t most = 0;
  for (absl::Time now = absl::UnixEpoch(); now < end;
       now = answers.begin()->first) {
    if (!answers.empty()) {
      window.Answered(answers.begin()->second, now);
      answers.erase(answers.begin());
    }
    // There is always more to send than the credit.
    for (; (made - started) * kSlice <= credit_bytes; ++made) {
      window.Add(made, kSlice, 0);
    }
    for (const int64_t number : StartAll(&window, now)) {
      link_is_free = std::max(link_is_free, now) + a_slice;
      answers[link_is_free + latency] = number;
      ++started;
    }
    if (now > late) most = std::max(most, window.bytes_under_way());
  }
  return most;
}

TEST(PushWindow, FillsALongLinkAndRunsNoFurtherAhead) {
  constexpr int64_t kMebibyte = 1 << 20;
  constexpr int64_t kCredit = 64 * kMebibyte;
  // 100 Mbit/s: 2 MiB keep the link busy.
  EXPECT_EQ(BytesInFlight(kCredit, 12.5e6, absl::Milliseconds(1), false),
            2 * kMebibyte - kSlice);
  // 1 Gbit/s over 100 ms: 12.5 MB are on their way.
  const int64_t far =
      BytesInFlight(kCredit, 125e6, absl::Milliseconds(100), false);
  EXPECT_GE(far, 12500000);
  EXPECT_LE(far, 3 * 12500000);
  // 40 Gbit/s in 5 ms: the credit is the limit.
  EXPECT_EQ(BytesInFlight(kCredit, 5e9, absl::Milliseconds(5), false),
            kCredit - kSlice);
}

TEST(PushWindow, TheWholeCreditMayBeNeededForOneAnswer) {
  EXPECT_EQ(BytesInFlight(8 << 20, 12.5e6, absl::Milliseconds(1), true),
            (8 << 20) - kSlice);
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
          windows[w].Answered(number, absl::UnixEpoch());
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
