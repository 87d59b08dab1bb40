// The work of a grid of blocks that forms a sum and takes random elements of
// it. For host and device.
#ifndef COMPRESSORS_CUDA_RANDOM_K_GRID_H_
#define COMPRESSORS_CUDA_RANDOM_K_GRID_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/cuda/subset_grid.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/fold.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"

namespace ps {

// All pointers refer to device memory.
struct RandomKArguments {
  SparseInput input;            // A sum of at least 1 element.
  SubsetDraw draw;              // Draws from input.n numbers.
  ChunkStats* stats = nullptr;  // [chunks]
  int64_t* bases = nullptr;     // [chunks + 1]
  uint32_t* indices = nullptr;  // [draw.k]
  float* values = nullptr;      // [draw.k]
};

struct RandomKState {
  ChunkStats total;  // The sum's; counts magnitudes above 0.
  SubsetState subset;
};

// The shared memory of a block in one phase.
union RandomKShared {
  SiftShared sift;
  FoldShared fold;
  SubsetShared subset;
  ScanShared scan;

  PS_HOST_DEVICE RandomKShared() {}
};

// See grid_launch.h.
struct RandomKWork {
  using Arguments = RandomKArguments;
  using State = RandomKState;
  using Shared = RandomKShared;

  // Takes nothing if an element of the sum is not finite.
  template <class Grid>
  PS_HOST_DEVICE static void Run(Grid& grid, const Arguments& arguments,
                                 State* state) {
    const int64_t num_chunks = NumSparseChunks(arguments.input.n);
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, Shared* shared) {
          SiftArguments sift;
          sift.input = arguments.input;
          sift.counted = MagnitudeRange::Above(0);
          sift.stats = arguments.stats;
          SiftChunks(block, sift, b, num_blocks, &shared->sift);
        },
        [&](auto& block, Shared* shared) {
          FoldChunks(block, arguments.stats, num_chunks, /*sums=*/false,
                     &shared->fold, &state->total);
        });
    if (state->total.num_non_finite > 0) return;
    MarkSubset(grid, arguments.draw, arguments.stats, arguments.bases,
               &state->subset);
    grid.Final([&](auto& block, int64_t b, int64_t num_blocks, Shared* shared) {
      TakeSubset(block, arguments.draw, arguments.input.u, arguments.bases, b,
                 num_blocks, &shared->subset, arguments.indices,
                 arguments.values);
    });
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_RANDOM_K_GRID_H_
