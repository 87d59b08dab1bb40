#include "server/timer.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/manual_clock.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

TEST(Timer, CallsInOrderOfTimeAndNotBefore) {
  Mutex mu;
  CondVar changed;
  std::vector<int> calls;
  ManualClock clock;
  const absl::Time start = clock.Now();
  std::vector<absl::Time> times;
  const auto record = [&](int number) {
    return [&, number] {
      MutexLock lock(&mu);
      calls.push_back(number);
      times.push_back(clock.Now());
      changed.SignalAll();
    };
  };
  const auto await = [&](size_t num_calls) {
    MutexLock lock(&mu);
    while (calls.size() < num_calls) changed.Wait(&mu);
  };
  Timer timer(nullptr, &clock);
  timer.At(start + absl::Minutes(30), record(2));
  timer.At(start + absl::Minutes(10), record(1));
  timer.At(start + absl::Hours(1), record(3));
  clock.Advance(absl::Minutes(10));
  // Each new call has the timer look at the clock again.
  timer.At(clock.Now(), record(4));
  await(2);
  clock.Advance(absl::Minutes(20));
  timer.At(clock.Now(), record(5));
  await(4);
  timer.Stop();
  EXPECT_THAT(calls, ElementsAre(1, 4, 2, 5));
  EXPECT_GE(times[0], start + absl::Minutes(10));
  EXPECT_GE(times[2], start + absl::Minutes(30));
  timer.At(start, record(6));
  EXPECT_THAT(calls, ElementsAre(1, 4, 2, 5));
}

TEST(Timer, WaitsForTheSteadyClock) {
  Mutex mu;
  CondVar changed;
  bool called = false;
  Timer timer;
  const absl::Time due = SteadyClock()->Now() + absl::Milliseconds(10);
  timer.At(due, [&] {
    MutexLock lock(&mu);
    called = true;
    changed.SignalAll();
  });
  MutexLock lock(&mu);
  while (!called) changed.Wait(&mu);
  EXPECT_GE(SteadyClock()->Now(), due);
}

TEST(Timer, HandsWorkToTheScheduler) {
  Mutex mu;
  CondVar changed;
  std::vector<std::function<void()>> scheduled;
  Timer timer([&](std::function<void()> work) {
    MutexLock lock(&mu);
    scheduled.push_back(std::move(work));
    changed.SignalAll();
  });
  bool called = false;
  timer.At(SteadyClock()->Now(), [&] { called = true; });
  MutexLock lock(&mu);
  while (scheduled.empty()) changed.Wait(&mu);
  EXPECT_FALSE(called);
  scheduled[0]();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace ps
