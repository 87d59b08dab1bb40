#include "tensor/cuda/memory_region.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr int64_t kUnit = MemoryRegion::kAlignmentBytes;

std::shared_ptr<void> HostMemory(int64_t size_bytes) {
  return std::shared_ptr<void>(std::aligned_alloc(kUnit, size_bytes),
                               std::free);
}

TEST(MemoryRegionTest, PiecesAreAlignedAndApart) {
  MemoryRegion region(HostMemory(16 * kUnit), 16 * kUnit);
  char* end = nullptr;
  for (const int64_t size : {int64_t{0}, int64_t{1}, kUnit, kUnit + 1}) {
    const auto piece = region.Allocate(size, "a test");
    ASSERT_TRUE(piece.ok()) << piece.status();
    char* const begin = static_cast<char*>(*piece);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % kUnit, 0u);
    if (end != nullptr) {
      EXPECT_GE(begin, end);
    }
    std::memset(begin, 1, size);
    end = begin + std::max<int64_t>(1, size);
  }
  EXPECT_EQ(region.used_bytes(), 5 * kUnit);
}

TEST(MemoryRegionTest, WhatDoesNotFitIsNamedWithWhatIsLeft) {
  MemoryRegion region(HostMemory(4 * kUnit), 4 * kUnit);
  ASSERT_TRUE(region.Allocate(3 * kUnit, "much").ok());
  const auto piece = region.Allocate(kUnit + 1, "a tensor of shape [65]");
  EXPECT_EQ(piece.status().code(), absl::StatusCode::kResourceExhausted);
  for (const char* part : {"a tensor of shape [65]", "257 bytes", "256 are"}) {
    EXPECT_TRUE(absl::StrContains(piece.status().message(), part))
        << piece.status();
  }
  EXPECT_EQ(region.Allocate(std::numeric_limits<int64_t>::max(), "all")
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(region.Allocate(kUnit, "the rest").ok());
}

TEST(MemoryRegionTest, NeighboursThatComeBackAreOnePiece) {
  // Frees in every order.
  std::vector<int> order = {0, 1, 2, 3};
  do {
    MemoryRegion region(HostMemory(4 * kUnit), 4 * kUnit);
    std::vector<void*> pieces;
    for (int i = 0; i < 4; ++i) {
      pieces.push_back(*region.Allocate(kUnit, "a piece"));
    }
    for (const int i : order) region.Free(pieces[i]);
    EXPECT_EQ(region.used_bytes(), 0);
    EXPECT_TRUE(region.Allocate(4 * kUnit, "everything").ok());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(MemoryRegionTest, PiecesNeverOverlapWhateverComesAndGoes) {
  constexpr int64_t kSize = 64 * kUnit;
  const std::shared_ptr<void> base = HostMemory(kSize);
  MemoryRegion region(base, kSize);
  RandomStream random(RandomKey(7));
  std::map<char*, std::pair<int64_t, char>> held;  // Size and fill, by address.
  for (int step = 0; step < 20000; ++step) {
    if (random.Below(2) == 0 && !held.empty()) {
      auto piece = held.begin();
      std::advance(piece, random.Below(held.size()));
      for (int64_t i = 0; i < piece->second.first; ++i) {
        ASSERT_EQ(piece->first[i], piece->second.second);
      }
      region.Free(piece->first);
      held.erase(piece);
      continue;
    }
    const int64_t size = static_cast<int64_t>(random.Below(9 * kUnit));
    const auto piece = region.Allocate(size, "a piece");
    if (!piece.ok()) continue;
    char* const begin = static_cast<char*>(*piece);
    ASSERT_GE(begin, static_cast<char*>(base.get()));
    ASSERT_LE(begin + size, static_cast<char*>(base.get()) + kSize);
    const char fill = static_cast<char>(step);
    std::memset(begin, fill, size);
    held[begin] = {size, fill};
  }
  for (const auto& [begin, piece] : held) region.Free(begin);
  EXPECT_EQ(region.used_bytes(), 0);
  EXPECT_TRUE(region.Allocate(kSize, "everything").ok());
}

TEST(MemoryRegionTest, SeparatePiecesHaveTheirOwnMemoryAndTheSameLimit) {
  std::vector<int64_t> sizes;
  int num_freed = 0;
  MemoryRegion region(
      [&](int64_t size_bytes) -> absl::StatusOr<std::shared_ptr<void>> {
        sizes.push_back(size_bytes);
        return std::shared_ptr<void>(std::malloc(size_bytes), [&](void* freed) {
          ++num_freed;
          std::free(freed);
        });
      },
      4 * kUnit);
  void* const one = region.Allocate(2 * kUnit + 1, "a piece").value();
  void* const other = region.Allocate(0, "nothing").value();
  EXPECT_NE(one, other);
  EXPECT_EQ(sizes, std::vector<int64_t>({2 * kUnit + 1, 1}));
  EXPECT_EQ(region.used_bytes(), 4 * kUnit);
  const auto piece = region.Allocate(1, "a tensor of shape [1]");
  EXPECT_EQ(piece.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(piece.status().message(), "0 are free"))
      << piece.status();
  region.Free(one);
  EXPECT_EQ(num_freed, 1);
  EXPECT_EQ(region.used_bytes(), kUnit);
  EXPECT_TRUE(region.Allocate(3 * kUnit, "the rest").ok());
}

}  // namespace
}  // namespace ps
