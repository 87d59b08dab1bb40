#include "server/timer.h"

#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

TEST(Timer, CallsInOrderOfTimeAndNotBefore) {
  Mutex mu;
  CondVar changed;
  std::vector<int> calls;
  const absl::Time start = absl::Now();
  std::vector<absl::Time> times;
  const auto record = [&](int number) {
    return [&, number] {
      MutexLock lock(&mu);
      calls.push_back(number);
      times.push_back(absl::Now());
      changed.SignalAll();
    };
  };
  Timer timer;
  timer.At(start + absl::Milliseconds(30), record(2));
  timer.At(start + absl::Milliseconds(10), record(1));
  timer.At(start + absl::Hours(1), record(3));
  {
    MutexLock lock(&mu);
    while (calls.size() < 2) changed.Wait(&mu);
  }
  timer.Stop();
  EXPECT_THAT(calls, ElementsAre(1, 2));
  EXPECT_GE(times[0], start + absl::Milliseconds(10));
  EXPECT_GE(times[1], start + absl::Milliseconds(30));
  timer.At(start, record(4));
  EXPECT_THAT(calls, ElementsAre(1, 2));
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
  timer.At(absl::Now(), [&] { called = true; });
  MutexLock lock(&mu);
  while (scheduled.empty()) changed.Wait(&mu);
  EXPECT_FALSE(called);
  scheduled[0]();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace ps
