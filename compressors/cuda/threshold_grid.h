// The work of a grid of blocks that forms a sum, finds a threshold by counts or
// from a sample, and selects above it. For host and device.
#ifndef COMPRESSORS_CUDA_THRESHOLD_GRID_H_
#define COMPRESSORS_CUDA_THRESHOLD_GRID_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"
#include "compressors/cuda/rank_grid.h"
#include "compressors/cuda/subset_grid.h"
#include "compressors/selectors/threshold_search.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/histogram.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"
#include "tensor/moments.h"

namespace ps {

// All pointers refer to device memory.
struct ThresholdArguments {
  SparseInput input;  // A sum of at least 1 element, with space for lists.
  ThresholdRule rule;
  // If sample_k is not 0: the rule is kFixed, and its threshold is the
  // sample_k-th largest magnitude of a sample.
  int64_t sample_k = 0;
  SubsetDraw sample;                        // Draws from input.n numbers.
  float* sample_values = nullptr;           // [sample.k]
  unsigned long long* histogram = nullptr;  // [kHistogramBins]
  // A guess of the lowest threshold that will be tried; affects speed only.
  // Infinity means no guess.
  float keep_above = HUGE_VALF;
  ChunkStats* stats = nullptr;  // [chunks]
  int64_t* bases = nullptr;     // [chunks + 1]
  // The selected elements are written if there are no more than `capacity`.
  int64_t capacity = 0;
  uint32_t* indices = nullptr;  // [capacity]
  float* values = nullptr;      // [capacity]
};

// In device memory. One block writes it, between phases in which all blocks
// read it.
struct ThresholdState {
  ChunkStats total;  // The sum's; counts magnitudes above 0.
  ThresholdSteps steps;
  // The lists hold all elements above kept_above; infinity if there are no
  // lists.
  float kept_above = HUGE_VALF;
  // Whether the chunks' last counts are those above steps.location().
  bool counted = false;
  int64_t num_selected = 0;
  SubsetState subset;
  RankState rank;
};

// The shared memory of a block in one phase.
union ThresholdShared {
  SiftShared sift;
  struct {
    FoldShared fold;
    ChunkStats total;
  } folded;
  SubsetShared subset;
  HistogramShared histogram;
  RankShared rank;
  ScanShared scan;
  TileShared tile;

  PS_HOST_DEVICE ThresholdShared() {}
};

// Makes a pass over the vector; then one thread calls done(total).
template <class Grid, class Done>
PS_HOST_DEVICE void PassThreshold(Grid& grid, const SiftArguments& sift,
                                  const Done& done) {
  const int64_t num_chunks = NumSparseChunks(sift.input.n);
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, ThresholdShared* shared) {
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          SiftChunk(block, sift, c, &shared->sift);
        }
      });
  grid.Phase([&](auto& block, int64_t b, int64_t, ThresholdShared* shared) {
    if (b != 0) return;
    FoldChunks(block, sift.stats, num_chunks, &shared->folded.fold,
               &shared->folded.total);
    block.Phase([&](int thread) {
      if (thread == 0) done(shared->folded.total);
    });
  });
}

// Forms the sum, its totals, and the lists of elements above the guess.
template <class Grid>
PS_HOST_DEVICE void FormSum(Grid& grid, const ThresholdArguments& arguments,
                            ThresholdState* state) {
  SiftArguments sift;
  sift.input = arguments.input;
  sift.counted = MagnitudeRange::Above(0);
  if (arguments.rule.NeedsSums()) sift.sum_of = SumOf::kExceedances;
  sift.keep = arguments.keep_above < HUGE_VALF;
  sift.kept = MagnitudeRange::Above(arguments.keep_above);
  sift.made = arguments.input.lists;
  sift.stats = arguments.stats;
  PassThreshold(grid, sift, [&](const ChunkStats& total) {
    *state = ThresholdState();
    state->total = total;
    state->kept_above = arguments.keep_above;
  });
}

// Measures the inputs of the rule and starts its steps.
template <class Grid>
PS_HOST_DEVICE void StartSteps(Grid& grid, const ThresholdArguments& arguments,
                               const SparseInput& input,
                               ThresholdState* state) {
  const auto start = [&](double threshold, double sum) {
    ThresholdRule rule = arguments.rule;
    if (arguments.sample_k > 0) rule.threshold = threshold;
    Moments moments;
    moments.sum = state->total.sum;
    moments.sum_squares = state->total.sum_squares;
    moments.max = FloatFromBits(state->total.max_bits);
    state->steps.Start(rule, input.n, moments, sum);
  };
  if (arguments.rule.of_signed) {
    SiftArguments sift;
    sift.input = input;
    sift.sum_of = SumOf::kValues;
    sift.stats = arguments.stats;
    PassThreshold(grid, sift,
                  [&](const ChunkStats& total) { start(0, total.sum); });
    return;
  }
  if (arguments.sample_k > 0) {
    TakeSubset(grid, arguments.sample, input.u, arguments.stats,
               arguments.bases, &state->subset, /*indices=*/nullptr,
               arguments.sample_values);
    SparseInput sample;
    sample.u = arguments.sample_values;
    sample.n = arguments.sample.k;
    FindRank(grid, sample, arguments.sample_k, arguments.histogram,
             &state->rank);
  }
  grid.Phase([&](auto& block, int64_t b, int64_t, ThresholdShared*) {
    if (b != 0) return;
    block.Phase([&](int thread) {
      if (thread == 0) start(FloatFromBits(state->rank.low), 0);
    });
  });
}

// See grid_launch.h.
struct ThresholdWork {
  using Arguments = ThresholdArguments;
  using State = ThresholdState;
  using Shared = ThresholdShared;

  // Selects nothing if an element of the sum is not finite.
  template <class Grid>
  PS_HOST_DEVICE static void Run(Grid& grid, const Arguments& arguments,
                                 State* state) {
    FormSum(grid, arguments, state);
    if (state->total.num_non_finite > 0) return;
    SparseInput input = arguments.input;
    input.residual = nullptr;
    StartSteps(grid, arguments, input, state);

    SiftArguments count;
    count.made = input.lists;
    count.stats = arguments.stats;
    while (state->steps.asks()) {
      const float location = state->steps.location();
      input.use_lists = location >= state->kept_above;
      count.input = input;
      count.counted = MagnitudeRange::Above(location);
      // Lower thresholds than this one may follow; new lists are then kept.
      count.keep = !input.use_lists;
      count.kept = count.counted;
      PassThreshold(grid, count, [&](const ChunkStats& total) {
        if (count.keep) state->kept_above = location;
        state->steps.Next(total.count);
        state->counted = state->steps.location() == location;
      });
    }

    const float location = state->steps.location();
    input.use_lists = location >= state->kept_above;
    SelectArguments select;
    select.input = input;
    select.wanted = MagnitudeRange::Above(location);
    const int64_t num_chunks = NumSparseChunks(input.n);
    if (!state->counted) {
      count.input = input;
      count.counted = select.wanted;
      count.keep = false;
      grid.Phase(
          [&](auto& block, int64_t b, int64_t num_blocks, Shared* shared) {
            for (int64_t c = b; c < num_chunks; c += num_blocks) {
              SiftChunk(block, count, c, &shared->sift);
            }
          });
    }
    grid.Phase([&](auto& block, int64_t b, int64_t, Shared* shared) {
      if (b != 0) return;
      ScanCounts(block, arguments.stats, num_chunks, &shared->scan,
                 arguments.bases);
      block.Phase([&](int thread) {
        if (thread == 0) state->num_selected = arguments.bases[num_chunks];
      });
    });
    if (state->num_selected > arguments.capacity) return;
    select.bases = arguments.bases;
    select.end_rank = arguments.capacity;
    select.indices = arguments.indices;
    select.values = arguments.values;
    grid.Phase([&](auto& block, int64_t b, int64_t num_blocks, Shared* shared) {
      for (int64_t c = b; c < num_chunks; c += num_blocks) {
        SelectChunk(block, select, c, &shared->tile);
      }
    });
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_THRESHOLD_GRID_H_
