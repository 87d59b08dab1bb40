// Stable compaction: the elements in a range of magnitudes, in the order of
// their indices, with one scan over the chunks' counts.
#ifndef TENSOR_CUDA_SPARSE_CORES_SELECT_H_
#define TENSOR_CUDA_SPARSE_CORES_SELECT_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

struct ScanShared {
  int64_t counts[kSparseThreads];
  int64_t group_counts[kNumGroups];
};

// Runs in one block. bases[c] becomes the number of elements counted in the
// chunks before c, and bases[num_chunks] the total. bases: [num_chunks + 1].
template <class Block>
PS_DEVICE_CALL void ScanCounts(Block& block, const ChunkStats* stats,
                               int64_t num_chunks, ScanShared* shared,
                               int64_t* bases) {
  // Every thread scans a run of chunks.
  const int64_t run = (num_chunks + kSparseThreads - 1) / kSparseThreads;
  const auto end_of = [&](int thread) {
    const int64_t end = (thread + 1) * run;
    return end < num_chunks ? end : num_chunks;
  };
  block.Phase([&](int thread) {
    int64_t count = 0;
    for (int64_t c = thread * run; c < end_of(thread); ++c) {
      count += stats[c].count;
    }
    shared->counts[thread] = count;
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    int64_t count = 0;
    for (int t = 0; t < kGroupThreads; ++t) {
      count += shared->counts[thread * kGroupThreads + t];
    }
    shared->group_counts[thread] = count;
  });
  block.Phase([&](int thread) {
    const int group = thread / kGroupThreads;
    int64_t base = 0;
    for (int g = 0; g < group; ++g) base += shared->group_counts[g];
    for (int t = group * kGroupThreads; t < thread; ++t) {
      base += shared->counts[t];
    }
    for (int64_t c = thread * run; c < end_of(thread); ++c) {
      bases[c] = base;
      base += stats[c].count;
    }
    if (thread == kSparseThreads - 1) bases[num_chunks] = base;
  });
}

struct SelectArguments {
  SparseInput input;  // Must not form a sum of two vectors.
  MagnitudeRange wanted;
  const int64_t* bases = nullptr;  // Prefix sums of the counts of `wanted`.
  // Of all wanted elements in order, those with ranks in [first_rank, end_rank)
  // are written, starting at the beginning of the outputs.
  int64_t first_rank = 0;
  int64_t end_rank = 0;
  uint32_t* indices = nullptr;  // [end_rank - first_rank]
  float* values = nullptr;      // [end_rank - first_rank]
};

// One block's work on one chunk. `wanted`, which has the form that PackChunk
// takes, replaces arguments.wanted.
template <class Block, class Wanted>
PS_HOST_DEVICE void SelectChunkIf(Block& block,
                                  const SelectArguments& arguments,
                                  const Wanted& wanted, int64_t chunk,
                                  PackTileShared* shared) {
  const int64_t base = arguments.bases[chunk];
  if (base >= arguments.end_rank || base == arguments.bases[chunk + 1] ||
      arguments.bases[chunk + 1] <= arguments.first_rank) {
    return;
  }
  const ChunkInput part = ChunkOf(arguments.input, chunk);
  PackChunk(block, arguments.input, part, wanted, shared,
            [&](int rank_in_chunk, uint32_t offset, float value) {
              const int64_t rank = base + rank_in_chunk;
              if (rank < arguments.first_rank || rank >= arguments.end_rank) {
                return;
              }
              const int64_t at = rank - arguments.first_rank;
              arguments.indices[at] =
                  static_cast<uint32_t>(part.begin) + offset;
              arguments.values[at] = value;
            });
}

template <class Block>
PS_HOST_DEVICE void SelectChunk(Block& block, const SelectArguments& arguments,
                                int64_t chunk, PackTileShared* shared) {
  SelectChunkIf(block, arguments, WantedMagnitudes{arguments.wanted}, chunk,
                shared);
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_SELECT_H_
