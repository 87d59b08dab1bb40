#include "server/slices/serial_executor.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

TEST(SerialExecutor, RunsAnEventAtOnceAndWhatItPostsAfterwards) {
  SerialExecutor executor;
  std::vector<int> order;
  executor.Post([&] {
    executor.Post([&] {
      order.push_back(3);
      executor.Post([&] { order.push_back(5); });
    });
    executor.Post([&] { order.push_back(4); });
    order.push_back(1);
    order.push_back(2);
  });
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5));
}

TEST(SerialExecutor, DestroysAnEventBeforeTheNextOneRuns) {
  SerialExecutor executor;
  auto owned = std::make_shared<int>(0);
  const std::weak_ptr<int> held = owned;
  bool gone = false;
  executor.Post([&executor, &held, &gone, owned = std::move(owned)] {
    executor.Post([&] { gone = held.expired(); });
  });
  EXPECT_TRUE(gone);
}

// The count has no lock: the thread sanitizer would report two events at once.
TEST(SerialExecutor, RunsEventsOfManyThreadsOneAtATime) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 2000;
  SerialExecutor executor;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int e = 0; e < kEvents; ++e) executor.Post([&] { ++count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  int last = 0;
  executor.Post([&] { last = count; });
  EXPECT_EQ(last, kThreads * kEvents);
}

}  // namespace
}  // namespace ps
