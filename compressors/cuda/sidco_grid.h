// The work of a grid of blocks for SIDCo: the passes of sidco_passes.h, then
// the selection. For host and device.
#ifndef COMPRESSORS_CUDA_SIDCO_GRID_H_
#define COMPRESSORS_CUDA_SIDCO_GRID_H_

#include <cstdint>

#include "compressors/cuda/sidco_passes.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// All pointers refer to device memory.
struct SidcoArguments {
  DeviceSidcoRequest request;
  // The vectors, space for lists, and the statistics of the chunks; request.n
  // must equal sift.input.n, at least 1.
  SiftArguments sift;
  int64_t* bases = nullptr;  // [chunks + 1]
  // The selected elements are written if there are no more than `capacity`.
  int64_t capacity = 0;
  uint32_t* indices = nullptr;  // [capacity]
  float* values = nullptr;      // [capacity]
};

// In device memory. One block writes it, between phases in which all blocks
// read it.
struct SidcoState {
  SidcoPasses passes;
  int64_t num_selected = 0;
  int64_t num_left = 0;  // num_selected, or 0 if that exceeds the capacity.
};

// The shared memory of a block in one phase.
union SidcoShared {
  SiftShared sift;
  struct {
    FoldShared fold;
    ChunkStats total;
  } advance;
  ScanShared scan;
  TileShared tile;

  PS_HOST_DEVICE SidcoShared() {}
};

// One block, between two passes.
template <class Block>
PS_HOST_DEVICE void AdvanceSidco(Block& block, const ChunkStats* stats,
                                 int64_t num_chunks, SidcoShared* shared,
                                 SidcoPasses* passes) {
  FoldChunks(block, stats, num_chunks, &shared->advance.fold,
             &shared->advance.total);
  block.Phase([&](int thread) {
    if (thread == 0) passes->PassDone(shared->advance.total);
  });
}

// All of the work; tensor/cuda/sparse/cores/host_device.h describes a Grid.
template <class Grid>
PS_HOST_DEVICE void RunSidco(Grid& grid, const SidcoArguments& arguments,
                             SidcoState* state) {
  SidcoPasses* const passes = &state->passes;
  const int64_t num_chunks = NumSparseChunks(arguments.sift.input.n);
  const ChunkStats* const stats = arguments.sift.stats;
  grid.Phase([&](auto& block, int64_t b, int64_t, SidcoShared*) {
    if (b != 0) return;
    block.Phase([&](int thread) {
      if (thread != 0) return;
      passes->Start(arguments.request);
      state->num_selected = state->num_left = 0;
    });
  });
  // The bound guards against our own bugs: a kernel that never ends is worse
  // than an error.
  const int max_passes = passes->max_passes();
  for (int pass = 0; pass < max_passes && !passes->done(); ++pass) {
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, SidcoShared* shared) {
          SiftArguments sift = arguments.sift;
          if (!passes->NextPass(&sift)) return;
          for (int64_t c = b; c < num_chunks; c += num_blocks) {
            SiftChunk(block, sift, c, &shared->sift);
          }
        });
    grid.Phase([&](auto& block, int64_t b, int64_t, SidcoShared* shared) {
      if (b == 0) AdvanceSidco(block, stats, num_chunks, shared, passes);
    });
  }
  if (passes->outcome() != SidcoOutcome::kEstimated) return;

  SparseInput input = arguments.sift.input;
  input.residual = nullptr;
  input.use_lists = passes->SelectedAreListed();
  const MagnitudeRange selected = passes->Selected();
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, SidcoShared* shared) {
        SiftArguments count = arguments.sift;
        count.input = input;
        count.counted = selected;
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          SiftChunk(block, count, c, &shared->sift);
        }
      });
  grid.Phase([&](auto& block, int64_t b, int64_t, SidcoShared* shared) {
    if (b != 0) return;
    ScanCounts(block, stats, num_chunks, &shared->scan, arguments.bases);
    block.Phase([&](int thread) {
      if (thread != 0) return;
      const int64_t count = arguments.bases[num_chunks];
      state->num_selected = count;
      state->num_left = count > arguments.capacity ? 0 : count;
    });
  });
  if (state->num_left == 0) return;
  SelectArguments select;
  select.input = input;
  select.wanted = selected;
  select.bases = arguments.bases;
  select.end_rank = arguments.capacity;
  select.indices = arguments.indices;
  select.values = arguments.values;
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, SidcoShared* shared) {
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          SelectChunk(block, select, c, &shared->tile);
        }
      });
}

// See grid_launch.h.
struct SidcoWork {
  using Arguments = SidcoArguments;
  using State = SidcoState;
  using Shared = SidcoShared;

  template <class Grid>
  PS_HOST_DEVICE static void Run(Grid& grid, const Arguments& arguments,
                                 State* state) {
    RunSidco(grid, arguments, state);
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SIDCO_GRID_H_
