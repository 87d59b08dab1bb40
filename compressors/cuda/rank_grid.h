// The work of a grid of blocks that finds the k-th largest magnitude with
// histograms of 12 bits at a time, from the highest bits down. For host and
// device.
#ifndef COMPRESSORS_CUDA_RANK_GRID_H_
#define COMPRESSORS_CUDA_RANK_GRID_H_

#include <cstdint>

#include "common/host_device.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/histogram.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// In device memory. One block writes it while the others wait.
struct RankState {
  // The bits of the k-th largest magnitude are in [low, low + 2^width), where
  // its rank is `wanted`. At the end the width is 0.
  uint32_t low = 0;
  int width = 31;
  int64_t wanted = 0;
  int64_t num_equal = 0;  // Elements with the bits `low`.
};

struct RankShared {
  unsigned long long sums[kSparseThreads];
};

constexpr int kRankBits = 12;
static_assert(1 << kRankBits == kHistogramBins, "");

PS_HOST_DEVICE inline int NextShift(const RankState& state) {
  return state.width > kRankBits ? state.width - kRankBits : 0;
}

// One block, before FindRank: prepares for the k-th largest magnitude.
template <class Block>
PS_HOST_DEVICE void StartRank(Block& block, int64_t k,
                              unsigned long long* histogram, RankState* state) {
  block.Phase([&](int thread) {
    for (int i = thread; i < kHistogramBins; i += kSparseThreads) {
      histogram[i] = 0;
    }
    if (thread != 0) return;
    *state = RankState();
    state->wanted = k;
  });
}

// One block counts its part of a histogram and adds it to the one in device
// memory.
template <class Block>
PS_HOST_DEVICE void CountDigits(Block& block, const SparseInput& input,
                                const RankState& state, int64_t b,
                                int64_t num_blocks, HistogramShared* shared,
                                unsigned long long* histogram) {
  block.Phase([&](int thread) {
    for (int i = thread; i < kHistogramBins; i += kSparseThreads) {
      shared->counts[i] = 0;
    }
  });
  const uint32_t low = state.low;
  const uint32_t width = 1u << state.width;
  const int shift = NextShift(state);
  const int64_t num_chunks = NumSparseChunks(input.n);
  block.Phase([&](int thread) {
    for (int64_t c = b; c < num_chunks; c += num_blocks) {
      const ChunkInput part = ChunkOf(input, c);
      for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
        const Tile tile = TileAt(part, begin);
        float items[kItemsPerThread];
        LoadElements(input, part, tile, thread, items);
        ForEachItem(tile, thread, [&](int k) {
          // Bits below `low` wrap around to a position that is too high.
          const uint32_t place = (FloatBits(items[k]) & kMagnitudeMask) - low;
          if (place < width) AtomicAdd(&shared->counts[place >> shift], 1);
        });
      }
    }
  });
  block.Phase([&](int thread) {
    for (int i = thread; i < kHistogramBins; i += kSparseThreads) {
      if (shared->counts[i] == 0) continue;
      AtomicAdd(&histogram[i], shared->counts[i]);
    }
  });
}

// One block, after a histogram: finds the bin that holds the k-th largest, and
// clears the histogram for the next one.
template <class Block>
PS_DEVICE_CALL void NarrowDigits(Block& block, unsigned long long* histogram,
                                 RankShared* shared, RankState* state) {
  constexpr int kBinsPerThread = kHistogramBins / kSparseThreads;
  block.Phase([&](int thread) {
    unsigned long long sum = 0;
    for (int i = 0; i < kBinsPerThread; ++i) {
      sum += histogram[thread * kBinsPerThread + i];
    }
    shared->sums[thread] = sum;
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    unsigned long long wanted = static_cast<unsigned long long>(state->wanted);
    int run = kSparseThreads - 1;
    for (; run > 0 && shared->sums[run] < wanted; --run) {
      wanted -= shared->sums[run];
    }
    int bin = (run + 1) * kBinsPerThread - 1;
    for (; bin > run * kBinsPerThread && histogram[bin] < wanted; --bin) {
      wanted -= histogram[bin];
    }
    const int shift = NextShift(*state);
    state->low += static_cast<uint32_t>(bin) << shift;
    state->width = shift;
    state->wanted = static_cast<int64_t>(wanted);
    state->num_equal = static_cast<int64_t>(histogram[bin]);
  });
  block.Phase([&](int thread) {
    for (int i = thread; i < kHistogramBins; i += kSparseThreads) {
      histogram[i] = 0;
    }
  });
}

// Sets *state for the k-th largest magnitude of input, with k in [1, n]; or of
// its lists if they are used, which must hold at least k elements. StartRank
// must have been called. histogram: [kHistogramBins], in device memory.
// tensor/cuda/sparse/cores/host_device.h describes a Grid; its shared memory
// must have a HistogramShared `histogram` and a RankShared `rank`.
template <class Grid>
PS_HOST_DEVICE void FindRank(Grid& grid, const SparseInput& input,
                             unsigned long long* histogram, RankState* state) {
  while (state->width > 0) {
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, auto* shared) {
          CountDigits(block, input, *state, b, num_blocks, &shared->histogram,
                      histogram);
        },
        [&](auto& block, auto* shared) {
          NarrowDigits(block, histogram, &shared->rank, state);
        });
  }
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_RANK_GRID_H_
