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
#include "tensor/cuda/sparse/cores/fold.h"
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

// In device memory. One block writes it while the others wait.
struct ThresholdState {
  ChunkStats total;  // The sum's; counts magnitudes above 0.
  ThresholdSteps steps;
  bool started = false;  // Whether the steps have.
  // The lists hold all elements above kept_above; infinity if there are no
  // lists.
  float kept_above = HUGE_VALF;
  // Whether the steps have ended where the chunks' last counts were made.
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
  PackTileShared pack;

  PS_HOST_DEVICE ThresholdShared() {}
};

// Makes a pass over the vector. Then one thread calls done(total), and if the
// steps have ended where the pass has counted, its counts are the selection's.
template <class Grid, class Done>
PS_HOST_DEVICE void PassThreshold(Grid& grid, const SiftArguments& sift,
                                  const ThresholdArguments& arguments,
                                  ThresholdState* state, const Done& done) {
  const int64_t num_chunks = NumSparseChunks(sift.input.n);
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, ThresholdShared* shared) {
        SiftChunks(block, sift, b, num_blocks, &shared->sift);
      },
      [&](auto& block, ThresholdShared* shared) {
        FoldChunks(block, sift.stats, num_chunks,
                   sift.sum_of != SumOf::kNothing, &shared->folded.fold,
                   &shared->folded.total);
        block.Phase([&](int thread) {
          if (thread != 0) return;
          const ChunkStats& total = shared->folded.total;
          done(total);
          state->counted = state->started && !state->steps.asks() &&
                           MagnitudeRange::Above(state->steps.location()).low ==
                               sift.counted.low;
          if (state->counted) state->num_selected = total.count;
        });
        if (!state->counted || state->num_selected > arguments.capacity) return;
        ScanCounts(block, sift.stats, num_chunks, &shared->scan,
                   arguments.bases);
      });
}

// By one thread. threshold: the sample's. sum: that of the elements, if the
// rule asks for it.
PS_DEVICE_CALL inline void StartSteps(const ThresholdArguments& arguments,
                                      double threshold, double sum,
                                      ThresholdState* state) {
  ThresholdRule rule = arguments.rule;
  if (arguments.sample_k > 0) rule.threshold = threshold;
  Moments moments;
  moments.sum = state->total.sum;
  moments.sum_squares = state->total.sum_squares;
  moments.max = FloatFromBits(state->total.max_bits);
  state->steps.Start(rule, arguments.input.n, moments, sum);
  state->started = true;
}

// Forms the sum, its totals, and the lists of elements above the guess. Starts
// the steps, unless they need more than that.
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
  PassThreshold(grid, sift, arguments, state, [&](const ChunkStats& total) {
    *state = ThresholdState();
    state->total = total;
    state->kept_above = arguments.keep_above;
    if (total.num_non_finite > 0 || arguments.rule.of_signed ||
        arguments.sample_k > 0) {
      return;
    }
    StartSteps(arguments, 0, 0, state);
  });
}

// Starts the steps of a rule that needs more than the sum's moments.
template <class Grid>
PS_HOST_DEVICE void MeasureMore(Grid& grid, const ThresholdArguments& arguments,
                                const SparseInput& input,
                                ThresholdState* state) {
  if (arguments.rule.of_signed) {
    SiftArguments sift;
    sift.input = input;
    sift.sum_of = SumOf::kValues;
    sift.stats = arguments.stats;
    PassThreshold(grid, sift, arguments, state, [&](const ChunkStats& total) {
      StartSteps(arguments, 0, total.sum, state);
    });
    return;
  }
  MarkSubset(grid, arguments.sample, arguments.stats, arguments.bases,
             &state->subset);
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, ThresholdShared* shared) {
        TakeSubset(block, arguments.sample, input.u, arguments.bases, b,
                   num_blocks, &shared->subset, /*indices=*/nullptr,
                   arguments.sample_values);
      },
      [&](auto& block, ThresholdShared*) {
        StartRank(block, arguments.sample_k, arguments.histogram, &state->rank);
      });
  SparseInput sample;
  sample.u = arguments.sample_values;
  sample.n = arguments.sample.k;
  FindRank(grid, sample, arguments.histogram, &state->rank);
  grid.Phase([](auto&, int64_t, int64_t, ThresholdShared*) {},
             [&](auto& block, ThresholdShared*) {
               block.Phase([&](int thread) {
                 if (thread != 0) return;
                 StartSteps(arguments, FloatFromBits(state->rank.low), 0,
                            state);
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
    if (!state->started) MeasureMore(grid, arguments, input, state);

    while (!state->counted) {
      const bool asks = state->steps.asks();
      const float location = state->steps.location();
      input.use_lists = location >= state->kept_above;
      SiftArguments count;
      count.input = input;
      count.counted = MagnitudeRange::Above(location);
      // Lower thresholds than this one may follow; new lists are then kept.
      count.keep = asks && !input.use_lists;
      count.kept = count.counted;
      count.made = input.lists;
      count.stats = arguments.stats;
      PassThreshold(grid, count, arguments, state,
                    [&](const ChunkStats& total) {
                      if (count.keep) state->kept_above = location;
                      if (asks) state->steps.Next(total.count);
                    });
    }

    if (state->num_selected > arguments.capacity) return;
    const float location = state->steps.location();
    input.use_lists = location >= state->kept_above;
    SelectArguments select;
    select.input = input;
    select.wanted = MagnitudeRange::Above(location);
    select.bases = arguments.bases;
    select.end_rank = arguments.capacity;
    select.indices = arguments.indices;
    select.values = arguments.values;
    grid.Final([&](auto& block, int64_t b, int64_t num_blocks, Shared* shared) {
      for (int64_t c = b; c < NumSparseChunks(input.n); c += num_blocks) {
        SelectChunk(block, select, c, &shared->pack);
      }
    });
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_THRESHOLD_GRID_H_
