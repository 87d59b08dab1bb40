// The work of a grid of blocks that finds the k largest magnitudes: histograms
// of 12 bits at a time, from the highest bits down; then the selection, which
// prefers the lower index among equal magnitudes. For host and device.
#ifndef COMPRESSORS_CUDA_TOP_K_GRID_H_
#define COMPRESSORS_CUDA_TOP_K_GRID_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/cuda/rank_grid.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/fold.h"
#include "tensor/cuda/sparse/cores/histogram.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// All pointers refer to device memory.
struct TopKArguments {
  // The vector, of at least 1 element. If it is formed here and an element of
  // the sum is not finite, nothing is selected. There must be space for lists
  // if keep_above is finite.
  SparseInput input;
  int64_t k = 0;  // In [1, n].
  // A guess: the sum is likely to have more than k elements above this. Affects
  // speed only.
  float keep_above = HUGE_VALF;
  ChunkStats* stats = nullptr;              // [chunks]
  int64_t* bases = nullptr;                 // [chunks + 1]
  unsigned long long* histogram = nullptr;  // [kHistogramBins]
  uint32_t* indices = nullptr;              // [k]
  float* values = nullptr;                  // [k]
};

// In device memory. One block writes it while the others wait.
struct TopKState {
  ChunkStats total;  // The sum's, if formed; counts magnitudes above 0.
  bool use_lists = false;
  RankState rank;  // The rank of the k-th largest.
  // Elements equal to the k-th largest are selected if they are before `cut`.
  int64_t cut = 0;
  int64_t num_selected = 0;
};

// Tells which elements of one chunk are selected.
struct WantedLargest {
  uint32_t low = 0;
  int64_t cut = 0;  // Relative to the chunk's begin.

  PS_HOST_DEVICE bool operator()(float x, uint32_t offset) const {
    const uint32_t bits = FloatBits(x) & kMagnitudeMask;
    return bits > low || (bits == low && static_cast<int64_t>(offset) < cut);
  }
};

struct CountShared {
  uint32_t counts[kSparseThreads];
};

// The shared memory of a block in one phase.
union TopKShared {
  SiftShared sift;
  FoldShared fold;
  RankShared rank;
  CountShared count;
  HistogramShared histogram;
  ScanShared scan;
  PackTileShared pack;

  PS_HOST_DEVICE TopKShared() {}
};

// One block, after the sum has been formed: computes the totals, and whether
// the lists hold at least k elements.
template <class Block>
PS_DEVICE_CALL void FinishSum(Block& block, const TopKArguments& arguments,
                              TopKShared* shared, TopKState* state) {
  const int64_t num_chunks = NumSparseChunks(arguments.input.n);
  FoldChunks(block, arguments.stats, num_chunks, /*sums=*/false, &shared->fold,
             &state->total);
  if (!(arguments.keep_above < HUGE_VALF)) return;
  block.Phase([&](int thread) {
    unsigned long long kept = 0;
    for (int64_t c = thread; c < num_chunks; c += kSparseThreads) {
      kept += arguments.input.lists.sizes[c];
    }
    shared->rank.sums[thread] = kept;
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    unsigned long long kept = 0;
    for (int t = 0; t < kSparseThreads; ++t) kept += shared->rank.sums[t];
    state->use_lists = kept >= static_cast<unsigned long long>(arguments.k);
  });
}

// One block: counts the wanted elements of a chunk.
template <class Block, class Wanted>
PS_HOST_DEVICE void CountChunk(Block& block, const SparseInput& input,
                               const Wanted& wanted, int64_t chunk,
                               CountShared* shared, ChunkStats* stats) {
  const ChunkInput part = ChunkOf(input, chunk);
  block.Phase([&](int thread) {
    uint32_t count = 0;
    for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
      const Tile tile = TileAt(part, begin);
      float items[kItemsPerThread];
      LoadElements(input, part, tile, thread, items);
      ForEachItem(tile, thread, [&](int k) {
        const int i = thread + k * kSparseThreads;
        if (wanted(items[k], tile.OffsetOf(part, i))) ++count;
      });
    }
    shared->counts[thread] = count;
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    uint32_t* const group = shared->counts + thread * kGroupThreads;
    for (int t = 1; t < kGroupThreads; ++t) group[0] += group[t];
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    int64_t count = 0;
    for (int g = 0; g < kNumGroups; ++g) {
      count += shared->counts[g * kGroupThreads];
    }
    stats[chunk].count = count;
  });
}

// One block: finds the cut, if more elements are equal than are wanted.
// arguments.bases: prefix sums of the chunks' counts of equal elements.
template <class Block>
PS_DEVICE_CALL void FindCut(Block& block, const TopKArguments& arguments,
                            const SparseInput& input, PackTileShared* shared,
                            TopKState* state) {
  const int64_t num_chunks = NumSparseChunks(input.n);
  // The last wanted one of them lies in exactly one chunk.
  block.Phase([&](int thread) {
    for (int64_t c = thread; c < num_chunks; c += kSparseThreads) {
      if (arguments.bases[c] < state->rank.wanted &&
          state->rank.wanted <= arguments.bases[c + 1]) {
        state->cut = c;
      }
    }
  });
  const int64_t chunk = state->cut;
  const int64_t last = state->rank.wanted - arguments.bases[chunk] - 1;
  const WantedMagnitudes equal = {
      MagnitudeRange::Equal(FloatFromBits(state->rank.low))};
  const ChunkInput part = ChunkOf(input, chunk);
  PackChunk(block, input, part, equal, shared,
            [&](int rank, uint32_t offset, float) {
              if (rank == last) state->cut = part.begin + offset + 1;
            });
}

// All of the work; tensor/cuda/sparse/cores/host_device.h describes a Grid.
template <class Grid>
PS_HOST_DEVICE void RunTopK(Grid& grid, const TopKArguments& arguments,
                            TopKState* state) {
  SparseInput input = arguments.input;
  const int64_t num_chunks = NumSparseChunks(input.n);
  const bool forms = input.residual != nullptr;
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, TopKShared* shared) {
        if (!forms) return;
        SiftArguments sift;
        sift.input = arguments.input;
        sift.counted = MagnitudeRange::Above(0);
        sift.keep = arguments.keep_above < HUGE_VALF;
        sift.kept = MagnitudeRange::Above(arguments.keep_above);
        sift.made = arguments.input.lists;
        sift.stats = arguments.stats;
        SiftChunks(block, sift, b, num_blocks, &shared->sift);
      },
      [&](auto& block, TopKShared* shared) {
        block.Phase([&](int thread) {
          if (thread != 0) return;
          *state = TopKState();
          state->cut = arguments.input.n;
        });
        if (forms) FinishSum(block, arguments, shared, state);
        StartRank(block, arguments.k, arguments.histogram, &state->rank);
      });
  if (state->total.num_non_finite > 0) return;
  input.residual = nullptr;
  input.use_lists = state->use_lists;

  FindRank(grid, input, arguments.histogram, &state->rank);

  // Counts by chunk; then one block calls done(block, shared).
  const auto count = [&](const auto& wanted_of, const auto& done) {
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, TopKShared* shared) {
          for (int64_t c = b; c < num_chunks; c += num_blocks) {
            CountChunk(block, input, wanted_of(c), c, &shared->count,
                       arguments.stats);
          }
        },
        [&](auto& block, TopKShared* shared) {
          ScanCounts(block, arguments.stats, num_chunks, &shared->scan,
                     arguments.bases);
          done(block, shared);
        });
  };
  if (state->rank.wanted < state->rank.num_equal) {
    const WantedMagnitudes equal = {
        MagnitudeRange::Equal(FloatFromBits(state->rank.low))};
    count([&](int64_t) { return equal; },
          [&](auto& block, TopKShared* shared) {
            FindCut(block, arguments, input, &shared->pack, state);
          });
  }
  const auto largest = [&](int64_t chunk) {
    WantedLargest wanted;
    wanted.low = state->rank.low;
    wanted.cut = state->cut - chunk * kSparseChunk;
    return wanted;
  };
  count(largest, [&](auto& block, TopKShared*) {
    block.Phase([&](int thread) {
      if (thread == 0) state->num_selected = arguments.bases[num_chunks];
    });
  });
  SelectArguments select;
  select.input = input;
  select.bases = arguments.bases;
  select.end_rank = arguments.k;
  select.indices = arguments.indices;
  select.values = arguments.values;
  grid.Final(
      [&](auto& block, int64_t b, int64_t num_blocks, TopKShared* shared) {
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          SelectChunkIf(block, select, largest(c), c, &shared->pack);
        }
      });
}

// See grid_launch.h.
struct TopKWork {
  using Arguments = TopKArguments;
  using State = TopKState;
  using Shared = TopKShared;

  template <class Grid>
  PS_HOST_DEVICE static void Run(Grid& grid, const Arguments& arguments,
                                 State* state) {
    RunTopK(grid, arguments, state);
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_TOP_K_GRID_H_
