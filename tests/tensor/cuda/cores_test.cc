// The bodies of kernels that work on the output of other kernels, at sizes that
// a whole vector would take long to reach, and in every order of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tensor/cuda/sparse/cores/fold.h"
#include "tensor/cuda/sparse/cores/histogram.h"
#include "tensor/cuda/sparse/cores/logs.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tests/tensor/cuda/host_block.h"

namespace ps {
namespace {

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward,
                                   ThreadOrder::kBackward, ThreadOrder::kMixed};
constexpr int64_t kNumChunks[] = {0,   1,   15,  16,  17,  31,   32,  33,
                                  255, 256, 257, 511, 512, 1000, 4099};

std::vector<ChunkStats> RandomStats(int64_t n) {
  RandomStream random(RandomKey(static_cast<uint64_t>(n)));
  std::vector<ChunkStats> stats(n);
  for (ChunkStats& each : stats) {
    each.sum = random.Uniform(0, 1000);
    each.sum_squares = random.Uniform(0, 100000);
    each.count = static_cast<int64_t>(random.Below(kSparseChunk + 1));
    each.num_non_finite = static_cast<int64_t>(random.Below(3));
    each.max_bits = static_cast<uint32_t>(random.Below(1u << 30));
    each.min_bits_less_one = static_cast<uint32_t>(random.Below(1u << 30));
  }
  return stats;
}

TEST(ScanTest, AddsUpTheCountsBefore) {
  for (const ThreadOrder order : kOrders) {
    for (const int64_t n : kNumChunks) {
      const std::vector<ChunkStats> stats = RandomStats(n);
      HostBlock block(order);
      ScanShared shared;
      std::vector<int64_t> bases(n + 1, -1);
      ScanCounts(block, stats.data(), n, &shared, bases.data());
      int64_t before = 0;
      for (int64_t c = 0; c <= n; ++c) {
        ASSERT_EQ(bases[c], before) << c << " of " << n;
        if (c < n) before += stats[c].count;
      }
    }
  }
}

TEST(FoldTest, AddsUpInTheOrderOfTheChunks) {
  for (const ThreadOrder order : kOrders) {
    for (const int64_t n : kNumChunks) {
      const std::vector<ChunkStats> stats = RandomStats(n);
      ChunkStats expected;
      for (const ChunkStats& each : stats) expected.Add(each);
      HostBlock block(order);
      FoldShared shared;
      ChunkStats total;
      FoldChunks(block, stats.data(), n, /*sums=*/true, &shared, &total);
      EXPECT_EQ(total.sum, expected.sum) << n;
      EXPECT_EQ(total.sum_squares, expected.sum_squares) << n;
      EXPECT_EQ(total.count, expected.count) << n;
      EXPECT_EQ(total.num_non_finite, expected.num_non_finite) << n;
      EXPECT_EQ(total.max_bits, expected.max_bits) << n;
      EXPECT_EQ(total.min_bits_less_one, expected.min_bits_less_one) << n;
    }
  }
}

// Sums that pass many powers of two, go up and down, round halves of a last
// place, or leave the numbers: all have the bits of a loop.
TEST(FoldTest, HasTheBitsOfALoopForEveryKindOfSum) {
  for (const int64_t n : {33, 1000, 1024, 1025, 3000}) {
    RandomStream random(RandomKey(static_cast<uint64_t>(n)));
    for (const int kind : {0, 1, 2, 3, 4}) {
      std::vector<ChunkStats> stats(n);
      for (ChunkStats& each : stats) {
        const double x = random.Uniform(0, 1);
        each.sum = kind == 0   ? std::exp(600 * x - 300)
                   : kind == 1 ? x - 0.5
                   : kind == 2 ? std::floor(16 * x) * 0x1p-52
                   : kind == 3 ? std::floor(1e9 * x)
                               : x;
        each.sum_squares = x;
        each.sum_logs = -x;
      }
      if (kind == 2) stats[0].sum = 1;
      if (kind == 4) stats[n / 2].sum = std::numeric_limits<double>::infinity();
      ChunkStats expected;
      for (const ChunkStats& each : stats) expected.Add(each);
      HostBlock block(ThreadOrder::kMixed);
      FoldShared shared;
      ChunkStats total;
      FoldChunks(block, stats.data(), n, /*sums=*/true, &shared, &total);
      EXPECT_EQ(DoubleBits(total.sum), DoubleBits(expected.sum))
          << "kind " << kind << " of " << n;
      EXPECT_EQ(total.sum_squares, expected.sum_squares) << n;
      EXPECT_EQ(total.sum_logs, expected.sum_logs) << n;
    }
  }
}

// As long as lists get.
TEST(SiftTest, MeasuresALongListLikeItsChunk) {
  std::vector<float> u(kSparseChunk);
  RandomStream random(RandomKey(3));
  for (float& each : u) each = static_cast<float>(random.Uniform(-1, 1));
  std::vector<uint16_t> offsets(kMeasuredListCapacity);
  std::vector<float> values(kMeasuredListCapacity);
  uint32_t size = 0;
  ChunkStats stats;
  SiftArguments sift;
  sift.input.u = u.data();
  sift.input.n = kSparseChunk;
  sift.sum_of = SumOf::kExceedances;
  sift.location = 0.96f;
  sift.counted = MagnitudeRange::Above(sift.location);
  sift.keep = true;
  sift.kept = MagnitudeRange::Above(0.94f);
  sift.made.capacity = kMeasuredListCapacity;
  sift.made.offsets = offsets.data();
  sift.made.values = values.data();
  sift.made.sizes = &size;
  sift.stats = &stats;
  for (const ThreadOrder order : kOrders) {
    HostBlock block(order);
    const auto shared = std::make_unique<SiftShared>();
    sift.input.use_lists = false;
    sift.keep = true;
    SiftChunk(block, sift, 0, shared.get());
    const ChunkStats of_chunk = stats;
    EXPECT_GT(size, kMeasuredListCapacity * 9 / 10);
    sift.input.lists = sift.made;
    sift.input.use_lists = true;
    ASSERT_TRUE(ChunkOf(sift.input, 0).listed);
    sift.keep = false;
    SiftChunk(block, sift, 0, shared.get());
    EXPECT_EQ(stats.count, of_chunk.count);
    EXPECT_EQ(stats.sum, of_chunk.sum);
    EXPECT_EQ(stats.sum_squares, of_chunk.sum_squares);
  }
}

TEST(MagnitudeRangeTest, AboveIsTheComparisonOfFloats) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float values[] = {0.0f,     std::numeric_limits<float>::denorm_min(),
                          1e-41f,   std::numeric_limits<float>::min(),
                          0.25f,    std::nextafter(0.25f, 1.0f),
                          1.0f,     std::numeric_limits<float>::max(),
                          kInfinity};
  for (const float threshold : values) {
    for (const float sign : {1.0f, -1.0f}) {
      const float t = sign * threshold;
      const MagnitudeRange range = MagnitudeRange::Above(t);
      for (const float value : values) {
        EXPECT_EQ(range.Contains(value), value > t) << value << " over " << t;
        EXPECT_EQ(range.Contains(-value), value > t) << value << " over " << t;
      }
      EXPECT_FALSE(range.Contains(std::nanf("")));
    }
  }
  const MagnitudeRange none = MagnitudeRange::Above(std::nanf(""));
  for (const float value : values) EXPECT_FALSE(none.Contains(value));
  EXPECT_TRUE(MagnitudeRange::Equal(-0.25f).Contains(0.25f));
  EXPECT_TRUE(MagnitudeRange::Equal(0).Contains(-0.0f));
  EXPECT_FALSE(MagnitudeRange::Equal(0).Contains(1e-45f));
}

TEST(ForEachElementTest, TakesEachOnce) {
  for (const int64_t n : {0, 1, 31, 32, 33, 255, 256, 257, 5 * 256 + 1}) {
    for (const int64_t blocks : {1, 2, 7}) {
      std::vector<int> seen(n);
      for (int64_t b = 0; b < blocks; ++b) {
        HostBlock block(ThreadOrder::kMixed);
        ForEachElement(block, b, blocks, kSparseThreads, n,
                       [&](int64_t i) { ++seen.at(i); });
      }
      EXPECT_EQ(seen, std::vector<int>(n, 1));
    }
  }
}

// A selection in windows of every size, each surrounded by guard elements.
TEST(SelectTest, WritesItsWindowAndNothingElse) {
  constexpr int64_t kSize = kSparseChunk + 5000;
  std::vector<float> u(kSize);
  for (int64_t i = 0; i < kSize; i += 97) u[i] = static_cast<float>(i + 1);
  SelectArguments arguments;
  arguments.input.u = u.data();
  arguments.input.n = kSize;
  arguments.wanted = MagnitudeRange::Above(0);
  const int64_t in_first = (kSparseChunk + 96) / 97;
  const int64_t in_all = (kSize + 96) / 97;
  const int64_t bases[3] = {0, in_first, in_all};
  arguments.bases = bases;
  for (const int64_t window : {int64_t{1}, int64_t{33}, in_first, in_all}) {
    for (int64_t begin = 0; begin < in_all; begin += window) {
      const int64_t size = std::min(window, in_all - begin);
      std::vector<uint32_t> indices(size + 2, 7);
      std::vector<float> values(size + 2, -7.0f);
      arguments.first_rank = begin;
      arguments.end_rank = begin + size;
      arguments.indices = indices.data() + 1;
      arguments.values = values.data() + 1;
      HostBlock block(ThreadOrder::kMixed);
      const auto shared = std::make_unique<PackTileShared>();
      for (int64_t chunk = 0; chunk < 2; ++chunk) {
        SelectChunk(block, arguments, chunk, shared.get());
      }
      for (const int64_t guard : {int64_t{0}, size + 1}) {
        ASSERT_EQ(indices[guard], 7u);
        ASSERT_EQ(values[guard], -7.0f);
      }
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(indices[i + 1], 97 * (begin + i));
        ASSERT_EQ(values[i + 1], static_cast<float>(97 * (begin + i) + 1));
      }
      if (window == 1 && begin > 40) begin += 50;  // A sample is enough.
    }
  }
}

// Indices beyond 32 bits, without allocating the vector.
TEST(ChunkOfTest, CountsIn64Bits) {
  SparseInput input;
  input.n = (int64_t{1} << 32) - 1;
  EXPECT_EQ(NumSparseChunks(input.n), kMaxSparseChunks);
  const ChunkInput last = ChunkOf(input, kMaxSparseChunks - 1);
  EXPECT_EQ(last.begin, (int64_t{1} << 32) - kSparseChunk);
  EXPECT_EQ(last.size, kSparseChunk - 1);
}

}  // namespace
}  // namespace ps
