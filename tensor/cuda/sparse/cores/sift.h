// One pass over a vector, which forms it, measures it and keeps some elements
// aside.
#ifndef TENSOR_CUDA_SPARSE_CORES_SIFT_H_
#define TENSOR_CUDA_SPARSE_CORES_SIFT_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/logs.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// Statistics of the elements that are read; of a list only the count and the
// sums.
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
  // Lists the elements in the range `kept` of the chunks that are not read by
  // their lists.
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

// The lists that a block measures at a time, with a thread for each lane.
constexpr int kListsAtATime = kSparseThreads / kSparseLanes;
// A longer list takes as long to measure as its chunk: a thread reads all of
// the one, and a sixteenth of the other.
constexpr int kMeasuredListCapacity = kSparseChunk / 16;

struct SiftShared {
  union {
    // A tile that is loaded, and the one before it, which is added up.
    float values[2][kSparseTile];
    // Of chunks that are listed.
    struct {
      double sums[kSparseThreads];
      double squares[kSparseThreads];
      uint32_t counts[kSparseThreads];
    } lists;
  };
  ThreadCounts counts[kSparseThreads];
  PackTileShared pack;
  ChunkProducts products;
  double lanes[kSummingThreads];
  SiftArguments arguments;  // For SiftChunks.

  PS_HOST_DEVICE SiftShared() {}
};

// What is added up of an element. Values not above the location give 0, which
// changes no bit of a sum.
PS_HOST_DEVICE inline double Addend(const SiftArguments& arguments, float x) {
  if (arguments.sum_of != SumOf::kExceedances) return x;
  const float location = arguments.location;
  const float a = FloatFromBits(FloatBits(x) & kMagnitudeMask);
  return static_cast<double>(a < location ? location : a) -
         static_cast<double>(location);
}

// Adds one lane of a tile of `size` elements to `sum`, in order.
PS_DEVICE_CALL inline double AddLane(const SiftArguments& arguments, int thread,
                                     int size, const float* values,
                                     double sum) {
  const bool squares = thread >= kSparseLanes;
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
  for (int i = thread % kSparseLanes; i < size; i += kSparseLanes) {
    const double y = Addend(arguments, values[i]);
    sum = AddRounded(sum, squares ? MultiplyRounded(y, y) : y);
  }
  return sum;
}

// One block's work on the chunks from `first` on that have a list, at most
// kListsAtATime, up to `end`. Every thread reads a whole list, and takes the
// elements of its lane: lists are short, and all threads read the same. The
// extrema of lists are not known.
template <class Block>
PS_HOST_DEVICE void SiftLists(Block& block, const SiftArguments& arguments,
                              int64_t first, int64_t end, SiftShared* shared) {
  block.Phase([&](int thread) {
    const int64_t chunk = first + thread / kSparseLanes;
    if (chunk >= end) return;
    const ChunkInput part = ChunkOf(arguments.input, chunk);
    if (!part.listed) return;
    const int lane = thread % kSparseLanes;
    const MagnitudeRange counted = arguments.counted;
    const float location = arguments.location;
    const uint16_t* const offsets = OnDevice(part.offsets);
    const float* const values = OnDevice(part.values);
    const int size = static_cast<int>(part.size);
    uint32_t count = 0;
    double sum = 0;
    double squares = 0;
    // Without branches, so that many loads are under way: what is not counted
    // is as small as the location, and adds 0.
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int i = 0; i < size; ++i) {
      const uint32_t bits = FloatBits(values[i]) & kMagnitudeMask;
      const bool mine = offsets[i] % kSparseLanes == lane;
      count += (bits - counted.low < counted.width) & mine;
      const float a = FloatFromBits(bits);
      const double y =
          static_cast<double>(mine & (a > location) ? a : location) -
          static_cast<double>(location);
      sum = AddRounded(sum, y);
      squares = AddRounded(squares, MultiplyRounded(y, y));
    }
    shared->lists.counts[thread] = count;
    shared->lists.sums[thread] = sum;
    shared->lists.squares[thread] = squares;
  });
  block.Phase([&](int thread) {
    const int64_t chunk = first + thread;
    if (thread >= kListsAtATime || chunk >= end ||
        !ChunkOf(arguments.input, chunk).listed) {
      return;
    }
    ChunkStats stats;
    for (int i = 0; i < kSparseLanes; ++i) {
      const int lane = thread * kSparseLanes + i;
      stats.count += shared->lists.counts[lane];
      stats.sum = AddRounded(stats.sum, shared->lists.sums[lane]);
      stats.sum_squares =
          AddRounded(stats.sum_squares, shared->lists.squares[lane]);
    }
    arguments.stats[chunk] = stats;
  });
}

// One block's work on one chunk that has no list.
template <class Block>
PS_HOST_DEVICE void SiftTiles(Block& block, const SiftArguments& arguments,
                              int64_t chunk, SiftShared* shared) {
  const ChunkInput part = ChunkOf(arguments.input, chunk);
  typename Block::template PerThread<ThreadCounts> counts;
  typename Block::template PerThread<double> sums;
  typename Block::template PerThread<LaneProduct> products;
  typename Block::template PerThread<TileItems> items;
  typename Block::template PerThread<uint32_t> masks;
  block.Each([&](int thread) {
    counts[thread] = ThreadCounts();
    sums[thread] = 0;
    products[thread] = LaneProduct();
  });
  const bool adds = arguments.sum_of != SumOf::kNothing || arguments.sum_logs;
  // One thread's part of adding up the tile that begins at `begin`.
  const auto add = [&](int64_t begin, int thread) {
    const Tile tile = TileAt(part, begin);
    const float* const values = shared->values[begin / kSparseTile % 2];
    if (thread < kSummingThreads) {
      if (arguments.sum_of == SumOf::kNothing) return;
      sums[thread] =
          AddLane(arguments, thread, tile.size, values, sums[thread]);
    } else if (thread < kMultiplyingEnd && arguments.sum_logs) {
      products[thread] =
          MultiplyLane(thread - kSummingThreads, WholeSize(part, tile), values,
                       products[thread]);
    }
  };
  int num_kept = 0;
  int64_t begin = 0;
  for (; begin < part.size; begin += kSparseTile) {
    const Tile tile = TileAt(part, begin);
    const auto take = [&](int thread) {
      const MagnitudeRange counted = arguments.counted;
      const MagnitudeRange kept = arguments.kept;
      float* const values = shared->values[begin / kSparseTile % 2] + thread;
      float(&mine)[kItemsPerThread] = items[thread].values;
      uint32_t mask = 0;
      LoadElements(arguments.input, part, tile, thread, mine);
      // A few threads add up a tile while the next one is under way.
      if (adds && begin > 0) add(begin - kSparseTile, thread);
      ForEachItem(tile, thread, [&](int k) {
        counts[thread].See(mine[k], counted);
        if (kept.Contains(mine[k])) mask |= 1u << k;
      });
      masks[thread] = mask;
      if (!adds) return;
      ForEachItem(tile, thread,
                  [&](int k) { values[k * kSparseThreads] = mine[k]; });
    };
    if (!arguments.keep) {
      if (adds) {
        block.Phase(take);
      } else {
        block.Each(take);
      }
      continue;
    }
    block.Each(take);
    const KeptLists& made = arguments.made;
    const int before = num_kept;
    num_kept +=
        block.Pack(masks, &shared->pack, [&](int thread, int k, int rank) {
          rank += before;
          if (rank >= static_cast<int>(made.capacity)) return;
          const int64_t at = chunk * made.capacity + rank;
          made.offsets[at] =
              static_cast<uint16_t>(begin + thread + k * kSparseThreads);
          made.values[at] = items[thread].values[k];
        });
  }
  block.Phase([&](int thread) {
    if (adds) add(begin - kSparseTile, thread);
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
    if (arguments.keep) {
      arguments.made.sizes[chunk] = static_cast<uint32_t>(num_kept);
    }
  });
}

// One block's work on one chunk, or on its list.
template <class Block>
PS_HOST_DEVICE void SiftChunk(Block& block, const SiftArguments& arguments,
                              int64_t chunk, SiftShared* shared) {
  if (ChunkOf(arguments.input, chunk).listed) {
    SiftLists(block, arguments, chunk, chunk + 1, shared);
  } else {
    SiftTiles(block, arguments, chunk, shared);
  }
}

// One block's work on every num_blocks-th chunk, from b on. Its copy of the
// arguments is in shared memory: in registers they would leave too few for the
// loads.
template <class Block>
PS_HOST_DEVICE void SiftChunks(Block& block, const SiftArguments& arguments,
                               int64_t b, int64_t num_blocks,
                               SiftShared* shared) {
  block.Phase([&](int thread) {
    if (thread == 0) shared->arguments = arguments;
  });
  const SparseInput& input = shared->arguments.input;
  const int64_t num_chunks = NumSparseChunks(input.n);
  int64_t lists = 1;
  if (input.use_lists) {
    // As many at a time as give all blocks a share.
    const int64_t share = (num_chunks + num_blocks - 1) / num_blocks;
    lists = share < kListsAtATime ? share : kListsAtATime;
    for (int64_t c = b * lists; c < num_chunks; c += num_blocks * lists) {
      SiftLists(block, shared->arguments, c,
                c + lists < num_chunks ? c + lists : num_chunks, shared);
    }
  }
  // The same chunks: a tile's new list takes the place of the one that was too
  // long, whose size no other block may read meanwhile.
  for (int64_t c = b * lists; c < num_chunks; c += num_blocks * lists) {
    for (int64_t k = c; k < c + lists && k < num_chunks; ++k) {
      if (ChunkOf(input, k).listed) continue;
      SiftTiles(block, shared->arguments, k, shared);
    }
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_SIFT_H_
