#include "tensor/cuda/pinned_ring.h"

#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

// A ring in ordinary memory; counts the memory it frees in *num_freed.
std::unique_ptr<PinnedRing> NewRing(int num_buffers, int64_t buffer_bytes,
                                    int* num_freed) {
  PinnedRingOptions options;
  options.num_buffers = num_buffers;
  options.buffer_bytes = buffer_bytes;
  options.allocate = [](int64_t size_bytes) -> absl::StatusOr<void*> {
    return std::aligned_alloc(256, size_bytes);
  };
  options.free = [num_freed](void* memory) {
    ++*num_freed;
    std::free(memory);
  };
  auto ring = PinnedRing::Create(options);
  EXPECT_TRUE(ring.ok()) << ring.status();
  return *std::move(ring);
}

TEST(PinnedRingTest, BuffersAreApartAndOfTheirSize) {
  int num_freed = 0;
  {
    const auto ring = NewRing(3, 1000, &num_freed);
    std::vector<std::shared_ptr<uint8_t[]>> buffers;
    for (int i = 0; i < 3; ++i) {
      buffers.push_back(*ring->Acquire(absl::ZeroDuration()));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers[i].get()) % 64, 0u);
      std::memset(buffers[i].get(), i, 1000);
    }
    for (int i = 0; i < 3; ++i) {
      for (int b = 0; b < 1000; ++b) ASSERT_EQ(buffers[i][b], i);
    }
  }
  EXPECT_EQ(num_freed, 1);
}

TEST(PinnedRingTest, SaysHowManyAreOutWhenNoneComesBack) {
  int num_freed = 0;
  const auto ring = NewRing(2, 10, &num_freed);
  const auto first = ring->Acquire(absl::ZeroDuration());
  const auto second = ring->Acquire(absl::ZeroDuration());
  const auto third = ring->Acquire(absl::Milliseconds(1));
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(third.status().message(), "all 2 pinned"))
      << third.status();
}

TEST(PinnedRingTest, ABufferComesBackWithItsLastHandle) {
  int num_freed = 0;
  const auto ring = NewRing(1, 10, &num_freed);
  auto one = *ring->Acquire(absl::ZeroDuration());
  auto other = one;
  one.reset();
  EXPECT_EQ(ring->num_free(), 0);
  other.reset();
  EXPECT_EQ(ring->num_free(), 1);
  EXPECT_TRUE(ring->Acquire(absl::ZeroDuration()).ok());
}

TEST(PinnedRingTest, BuffersTakeTurns) {
  int num_freed = 0;
  const auto ring = NewRing(3, 10, &num_freed);
  std::set<uint8_t*> seen;
  for (int i = 0; i < 3; ++i) {
    seen.insert((*ring->Acquire(absl::ZeroDuration())).get());
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(PinnedRingTest, WhoWaitsGetsWhatAnotherThreadGivesBack) {
  int num_freed = 0;
  const auto ring = NewRing(2, sizeof(int), &num_freed);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&ring, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto buffer = ring->Acquire(absl::InfiniteDuration());
        ASSERT_TRUE(buffer.ok()) << buffer.status();
        const int mine = 4 * i + t;
        std::memcpy(buffer->get(), &mine, sizeof(mine));
        int read;
        std::memcpy(&read, buffer->get(), sizeof(read));
        ASSERT_EQ(read, mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ring->num_free(), 2);
}

TEST(PinnedRingTest, BuffersOutliveTheRing) {
  int num_freed = 0;
  auto ring = NewRing(1, 10, &num_freed);
  auto buffer = *ring->Acquire(absl::ZeroDuration());
  ring.reset();
  buffer[9] = 1;
  EXPECT_EQ(num_freed, 0);
  buffer.reset();
  EXPECT_EQ(num_freed, 1);
}

TEST(PinnedRingTest, NeedsABufferAndMemory) {
  PinnedRingOptions options;
  options.num_buffers = 0;
  options.buffer_bytes = 1;
  EXPECT_EQ(PinnedRing::Create(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.num_buffers = 1;
  options.allocate = [](int64_t size_bytes) -> absl::StatusOr<void*> {
    return absl::ResourceExhaustedError(absl::StrCat("no ", size_bytes));
  };
  EXPECT_EQ(PinnedRing::Create(options).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ps
