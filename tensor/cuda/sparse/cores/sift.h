// One pass over a vector, which forms it, measures it and keeps some elements
// aside.
#ifndef TENSOR_CUDA_SPARSE_CORES_SIFT_H_
#define TENSOR_CUDA_SPARSE_CORES_SIFT_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/lanes.h"
#include "tensor/cuda/sparse/cores/logs.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// Statistics of the elements that are read.
struct ChunkStats {
  double sum = 0;
  double sum_squares = 0;
  double sum_logs = 0;         // If SiftArguments asks for it.
  int64_t count = 0;           // In SiftArguments.counted.
  int64_t num_non_finite = 0;  // NaNs and infinities.
  uint32_t max_bits = 0;       // Largest magnitude.
  // The bits of the smallest non-zero magnitude, less one: 0 wraps round to the
  // largest.
  uint32_t min_bits_less_one = 0xffffffff;

  PS_HOST_DEVICE void Add(const ChunkStats& other) {
    sum = AddRounded(sum, other.sum);
    sum_squares = AddRounded(sum_squares, other.sum_squares);
    sum_logs = AddRounded(sum_logs, other.sum_logs);
    AddCounts(other);
  }

  // Adds everything except the sums; in any order.
  PS_HOST_DEVICE void AddCounts(const ChunkStats& other) {
    count += other.count;
    num_non_finite += other.num_non_finite;
    if (other.max_bits > max_bits) max_bits = other.max_bits;
    if (other.min_bits_less_one < min_bits_less_one) {
      min_bits_less_one = other.min_bits_less_one;
    }
  }
};

enum class SumOf {
  kNothing,
  // max(|u|, location) - location, and its square.
  kExceedances,
  // u, and its square. Not for lists, since the elements they omit would count.
  kValues,
};

struct SiftArguments {
  SparseInput input;
  MagnitudeRange counted;
  SumOf sum_of = SumOf::kNothing;
  float location = 0;
  // Also sums ln |u| over the non-zero elements. Not for lists.
  bool sum_logs = false;
  // Replaces the lists by the elements in the range `kept`.
  bool keep = false;
  MagnitudeRange kept;
  // The lists to write: input.lists or others.
  KeptLists made;
  ChunkStats* stats = nullptr;  // [chunks]
};

// The counts of one thread over the elements that it loads.
struct ThreadCounts {
  uint32_t count = 0;
  uint32_t num_non_finite = 0;
  uint32_t max_bits = 0;
  uint32_t min_bits_less_one = 0xffffffff;

  PS_HOST_DEVICE void See(float x, const MagnitudeRange& counted) {
    const uint32_t bits = FloatBits(x) & kMagnitudeMask;
    if (bits - counted.low < counted.width) ++count;
    if (bits >= kInfinityBits) ++num_non_finite;
    if (bits > max_bits) max_bits = bits;
    if (bits - 1 < min_bits_less_one) min_bits_less_one = bits - 1;
  }

  PS_HOST_DEVICE void Add(const ThreadCounts& other) {
    count += other.count;
    num_non_finite += other.num_non_finite;
    if (other.max_bits > max_bits) max_bits = other.max_bits;
    if (other.min_bits_less_one < min_bits_less_one) {
      min_bits_less_one = other.min_bits_less_one;
    }
  }
};

// The threads that compute sums: one for each lane's sum, and one for each
// lane's sum of squares.
constexpr int kSummingThreads = 2 * kSparseLanes;
// The threads after them, in the next warp, multiply: one for each lane.
constexpr int kMultiplyingEnd = kSummingThreads + kSparseLanes;

struct SiftShared {
  // Counts are gathered after the last use of the tile's values.
  union {
    TileShared tile;
    ThreadCounts counts[kSparseThreads];
  };
  // Nor do lists have logarithms.
  union {
    LanesShared sorted;
    ChunkProducts products;
  };
  double lanes[kSummingThreads];
  SiftArguments arguments;  // For SiftChunks.

  PS_HOST_DEVICE SiftShared() {}
};
// group_counts, the part of the tile that is read between phases, must not
// overlap.
static_assert(sizeof(ThreadCounts[kSparseThreads]) <=
                  sizeof(TileShared::values),
              "counts must overlap nothing but the values");

// Adds one lane of a tile to `sum`, in order.
PS_HOST_DEVICE inline double AddLane(const SiftArguments& arguments,
                                     const ChunkInput& part, const Tile& tile,
                                     int thread, const TileShared& shared,
                                     const LanesShared& lanes, double sum) {
  const int lane = thread % kSparseLanes;
  const bool squares = thread >= kSparseLanes;
  const bool exceedances = arguments.sum_of == SumOf::kExceedances;
  const float location = arguments.location;
  const auto add = [&](float x) {
    double y = x;
    if (exceedances) {
      const float a = FloatFromBits(FloatBits(x) & kMagnitudeMask);
      // Values not above the location add 0, which changes no bit.
      y = static_cast<double>(a < location ? location : a) -
          static_cast<double>(location);
    }
    sum = AddRounded(sum, squares ? MultiplyRounded(y, y) : y);
  };
  if (part.listed) {
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int i = 0; i < lanes.sizes[lane]; ++i) {
      add(shared.values[PaddedIndex(lanes.order[lanes.begins[lane] + i])]);
    }
  } else {
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int i = lane; i < tile.size; i += kSparseLanes) {
      add(shared.values[PaddedIndex(i)]);
    }
  }
  return sum;
}

// One block's work on one chunk.
template <class Block>
PS_HOST_DEVICE void SiftChunk(Block& block, const SiftArguments& arguments,
                              int64_t chunk, SiftShared* shared) {
  typename Block::template PerThread<ThreadCounts> counts;
  typename Block::template PerThread<double> sums;
  typename Block::template PerThread<LaneProduct> products;
  const ChunkInput part = ChunkOf(arguments.input, chunk);
  // This phase also separates reading the lists' sizes from writing them below.
  block.Phase([&](int thread) {
    counts[thread] = ThreadCounts();
    sums[thread] = 0;
    products[thread] = LaneProduct();
  });
  const KeptLists& made = arguments.made;
  int num_kept = 0;
  for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
    const Tile tile = TileAt(part, begin);
    block.Phase([&](int thread) {
      const MagnitudeRange counted = arguments.counted;
      LoadTile(arguments.input, part, tile, thread, &shared->tile,
               [&](float x) { counts[thread].See(x, counted); });
    });
    if (arguments.sum_of != SumOf::kNothing && part.listed) {
      SortByLane(block, tile, shared->tile, &shared->sorted);
    }
    if (arguments.sum_of != SumOf::kNothing || arguments.sum_logs) {
      block.Phase([&](int thread) {
        if (thread < kSummingThreads) {
          if (arguments.sum_of == SumOf::kNothing) return;
          sums[thread] = AddLane(arguments, part, tile, thread, shared->tile,
                                 shared->sorted, sums[thread]);
        } else if (thread < kMultiplyingEnd && arguments.sum_logs) {
          MultiplyLane(tile, thread - kSummingThreads, WholeLanes(part.size),
                       shared->tile, &products[thread]);
        }
      });
    }
    if (!arguments.keep) continue;
    // If a list is replaced in place, all tiles up to this one have been read.
    num_kept =
        PackTile(block, part, tile, WantedMagnitudes{arguments.kept}, num_kept,
                 &shared->tile, [&](int rank, uint32_t offset, float value) {
                   if (rank >= static_cast<int>(made.capacity)) return;
                   const int64_t at = chunk * made.capacity + rank;
                   made.offsets[at] = static_cast<uint16_t>(offset);
                   made.values[at] = value;
                 });
  }
  block.Phase([&](int thread) {
    shared->counts[thread] = counts[thread];
    if (thread < kSummingThreads) {
      shared->lanes[thread] = sums[thread];
    } else if (thread < kMultiplyingEnd && arguments.sum_logs) {
      StoreLane(arguments.input, part, thread - kSummingThreads,
                products[thread], &shared->products);
    }
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    ThreadCounts* const group = shared->counts + thread * kGroupThreads;
    for (int t = 1; t < kGroupThreads; ++t) group[0].Add(group[t]);
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    ThreadCounts total;
    for (int g = 0; g < kNumGroups; ++g) {
      total.Add(shared->counts[g * kGroupThreads]);
    }
    ChunkStats stats;
    stats.count = total.count;
    stats.num_non_finite = total.num_non_finite;
    stats.max_bits = total.max_bits;
    stats.min_bits_less_one = total.min_bits_less_one;
    for (int i = 0; i < kSparseLanes; ++i) {
      stats.sum = AddRounded(stats.sum, shared->lanes[i]);
      stats.sum_squares =
          AddRounded(stats.sum_squares, shared->lanes[kSparseLanes + i]);
    }
    if (arguments.sum_logs) stats.sum_logs = SumOfLogs(shared->products);
    arguments.stats[chunk] = stats;
    if (arguments.keep) made.sizes[chunk] = static_cast<uint32_t>(num_kept);
  });
}

// One block's work on every num_blocks-th chunk, from b on. Its copy of the
// arguments is in shared memory: in registers they would leave too few for the
// loads.
template <class Block>
PS_DEVICE_CALL void SiftChunks(Block& block, const SiftArguments& arguments,
                               int64_t b, int64_t num_blocks,
                               SiftShared* shared) {
  block.Phase([&](int thread) {
    if (thread == 0) shared->arguments = arguments;
  });
  const int64_t num_chunks = NumSparseChunks(shared->arguments.input.n);
  for (int64_t c = b; c < num_chunks; c += num_blocks) {
    SiftChunk(block, shared->arguments, c, shared);
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_SIFT_H_
