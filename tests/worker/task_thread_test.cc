#include "worker/task_thread.h"

#include <thread>
#include <vector>

#include "common/mutex.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(TaskThreadTest, RunsTasksInOrderOnAnotherThread) {
  TaskThread thread;
  std::vector<int> done;  // No lock is needed: Await orders the accesses.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(thread
                    .Run([&done, i] {
                      done.push_back(i);
                      return absl::OkStatus();
                    })
                    .ok());
  }
  std::thread::id id;
  ASSERT_TRUE(thread
                  .Run([&id] {
                    id = std::this_thread::get_id();
                    return absl::OkStatus();
                  })
                  .ok());
  ASSERT_TRUE(thread.Await().ok());
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(TaskThreadTest, AFailureDropsWhatComesAfterItUntilSomebodyHasSeenIt) {
  TaskThread thread;
  int later = 0;
  ASSERT_TRUE(thread.Run([] { return absl::DataLossError("first"); }).ok());
  // The first task may or may not have failed by now.
  const absl::Status status = thread.Run([&later] {
    ++later;
    return absl::InternalError("second");
  });
  EXPECT_TRUE(status.ok() || status.message() == "first") << status;
  EXPECT_EQ(thread.Await(), absl::DataLossError("first"));
  EXPECT_EQ(later, 0);
  EXPECT_TRUE(thread.Await().ok());
  ASSERT_TRUE(thread
                  .Run([&later] {
                    ++later;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_TRUE(thread.Await().ok());
  EXPECT_EQ(later, 1);
}

TEST(TaskThreadTest, EndsWithTheTaskThatIsBeingDone) {
  Mutex mu;
  CondVar changed;
  bool started = false;
  bool ended = false;
  {
    TaskThread thread;
    ASSERT_TRUE(thread
                    .Run([&] {
                      MutexLock lock(&mu);
                      started = true;
                      changed.SignalAll();
                      ended = true;
                      return absl::OkStatus();
                    })
                    .ok());
    MutexLock lock(&mu);
    while (!started) changed.Wait(&mu);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace ps
