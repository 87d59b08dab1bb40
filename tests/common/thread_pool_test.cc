#include "common/thread_pool.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(ThreadPoolTest, EveryElementIsVisitedOnceInFixedChunks) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const int64_t n : {0, 1, 9, 10, 11, 1000}) {
      std::vector<int> visits(n, 0);
      std::vector<int64_t> begins(NumChunks(n, 10), -1);
      pool.ParallelFor(n, 10, [&](const ChunkRange& chunk) {
        begins[chunk.index] = chunk.begin;
        for (int64_t i = chunk.begin; i < chunk.end; ++i) ++visits[i];
      });
      EXPECT_EQ(visits, std::vector<int>(n, 1));
      for (size_t i = 0; i < begins.size(); ++i) {
        EXPECT_EQ(begins[i], static_cast<int64_t>(10 * i));
      }
    }
  }
}

TEST(ThreadPoolTest, ManyShortLoopsLoseNothing) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 2000; ++loop) {
    std::atomic<int64_t> sum{0};
    pool.ParallelFor(
        7, 1, [&sum](const ChunkRange& chunk) { sum += chunk.begin + 1; });
    ASSERT_EQ(sum, 28);
  }
}

TEST(ThreadPoolTest, ChunksRunAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> arrived{0};
  // Returns only if all three chunks run at the same time.
  pool.ParallelFor(3, 1, [&arrived](const ChunkRange&) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(ThreadPoolTest, LoopsOfSeveralCallersTakeTurns) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(4, 0);
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&pool, &sums, c] {
      for (int loop = 0; loop < 200; ++loop) {
        std::vector<int64_t> partial(10, 0);
        pool.ParallelFor(100, 10, [&partial](const ChunkRange& chunk) {
          partial[chunk.index] = chunk.end - chunk.begin;
        });
        for (const int64_t each : partial) sums[c] += each;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<int64_t>(4, 200 * 100));
}

}  // namespace
}  // namespace ps
