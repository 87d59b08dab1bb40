// The work of a grid of blocks for SIDCo: the passes of sidco_passes.h, then
// the selection. For host and device.
#ifndef COMPRESSORS_CUDA_SIDCO_GRID_H_
#define COMPRESSORS_CUDA_SIDCO_GRID_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compressors/cuda/sidco_passes.h"
#include "tensor/cuda/sparse/cores/fold.h"
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

// In device memory. One block writes it while the others wait.
struct SidcoState {
  SidcoPasses passes;
  // passes.num_selected(), or 0 if that exceeds the capacity.
  int64_t num_left = 0;
};

// The shared memory of a block in one phase.
union SidcoShared {
  SiftShared sift;
  struct {
    FoldShared fold;
    ChunkStats total;
    GammaSearch search;
    GammaSearchShared nodes;
    SidcoPasses passes;
  } advance;
  ScanShared scan;
  PackTileShared pack;

  PS_HOST_DEVICE SidcoShared() {}
};

// Copies by all threads.
template <class Block, class T>
PS_HOST_DEVICE void CopyByBlock(Block& block, const T& from, T* to) {
  static_assert(std::is_trivially_copyable<T>::value, "");
  static_assert(sizeof(T) % sizeof(uint32_t) == 0, "");
  block.Phase([&](int thread) {
    for (size_t i = thread * sizeof(uint32_t); i < sizeof(T);
         i += kSparseThreads * sizeof(uint32_t)) {
      std::memcpy(reinterpret_cast<char*>(to) + i,
                  reinterpret_cast<const char*>(&from) + i, sizeof(uint32_t));
    }
  });
}

// One block, after pass number `pass`, which was `done`: decides on the next
// one, or places the selected elements.
template <class Block>
PS_DEVICE_CALL void AdvanceSidco(Block& block, const SidcoArguments& arguments,
                                 int pass, const SidcoPass& done,
                                 SidcoShared* shared, SidcoState* state) {
  const int64_t num_chunks = NumSparseChunks(arguments.sift.input.n);
  FoldChunks(block, arguments.sift.stats, num_chunks,
             done.sum_of != SumOf::kNothing || done.sum_logs,
             &shared->advance.fold, &shared->advance.total);
  // One thread decides, for which each access of device memory would be a wait.
  SidcoPasses* const passes = &shared->advance.passes;
  if (pass > 0) CopyByBlock(block, state->passes, passes);
  GammaSearch* const search = &shared->advance.search;
  block.Phase([&](int thread) {
    if (thread != 0) return;
    if (pass == 0) passes->Start(arguments.request);
    *search = GammaSearch();
  });
  for (bool decided = false; !decided;) {
    block.Phase([&](int thread) {
      if (thread != 0) return;
      passes->PassDone(arguments.request, shared->advance.total, search);
    });
    decided = !search->open();
    if (!decided) AnswerSearch(block, &shared->advance.nodes, search);
  }
  block.Phase([&](int thread) {
    if (thread != 0) return;
    const int64_t count = passes->num_selected();
    state->num_left = count > arguments.capacity ? 0 : count;
  });
  CopyByBlock(block, *passes, &state->passes);
  if (state->num_left == 0) return;
  ScanCounts(block, arguments.sift.stats, num_chunks, &shared->scan,
             arguments.bases);
}

// All of the work; tensor/cuda/sparse/cores/host_device.h describes a Grid.
template <class Grid>
PS_HOST_DEVICE void RunSidco(Grid& grid, const SidcoArguments& arguments,
                             SidcoState* state) {
  const int64_t num_chunks = NumSparseChunks(arguments.sift.input.n);
  // The bound guards against our own bugs: a kernel that never ends is worse
  // than an error.
  const int max_passes = SidcoPasses::MaxPasses(arguments.request);
  SidcoPass next = SidcoPasses::First(arguments.request);
  for (int pass = 0; pass < max_passes && next.task != SidcoPass::Task::kNone;
       ++pass) {
    SiftArguments sift = arguments.sift;
    next.ApplyTo(&sift);
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, SidcoShared* shared) {
          SiftChunks(block, sift, b, num_blocks, &shared->sift);
        },
        [&](auto& block, SidcoShared* shared) {
          AdvanceSidco(block, arguments, pass, next, shared, state);
        });
    next = state->passes.next();
  }
  if (state->num_left == 0) return;
  SelectArguments select;
  select.input = arguments.sift.input;
  select.input.residual = nullptr;
  select.input.use_lists = state->passes.SelectedAreListed();
  select.wanted = state->passes.Selected();
  select.bases = arguments.bases;
  select.end_rank = arguments.capacity;
  select.indices = arguments.indices;
  select.values = arguments.values;
  grid.Final(
      [&](auto& block, int64_t b, int64_t num_blocks, SidcoShared* shared) {
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          SelectChunk(block, select, c, &shared->pack);
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
