// Totals over the chunks of a vector, by one block: sums have the bits of a
// loop that adds one chunk after the other, as the CPU does.
#ifndef TENSOR_CUDA_SPARSE_CORES_FOLD_H_
#define TENSOR_CUDA_SPARSE_CORES_FOLD_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// A sum, a sum of squares and a sum of logarithms.
constexpr int kFoldedSums = 3;
constexpr int kFoldTile = 1024;

union FoldShared {
  // By sum, so that threads of different warps add them up.
  double addends[kFoldedSums][kFoldTile];
  ChunkStats counts[kSparseThreads];  // After the sums.

  PS_HOST_DEVICE FoldShared() {}
};

// Runs in one block: *total over num_chunks. *total must not be in *shared.
// Without `sums`, those of the total are 0.
template <class Block>
PS_DEVICE_CALL void FoldChunks(Block& block, const ChunkStats* stats,
                               int64_t num_chunks, bool sums,
                               FoldShared* shared, ChunkStats* total) {
  typename Block::template PerThread<ChunkStats> counts;
  typename Block::template PerThread<double> sum;
  block.Phase([&](int thread) {
    ChunkStats mine;
    for (int64_t c = thread; c < num_chunks; c += kSparseThreads) {
      mine.AddCounts(stats[c]);
    }
    counts[thread] = mine;
    sum[thread] = 0;
    if (thread == 0) *total = ChunkStats();
  });
  for (int64_t begin = 0; sums && begin < num_chunks; begin += kFoldTile) {
    const int64_t left = num_chunks - begin;
    const int size = static_cast<int>(left < kFoldTile ? left : kFoldTile);
    block.Phase([&](int thread) {
      for (int c = thread; c < size; c += kSparseThreads) {
        const ChunkStats& chunk = stats[begin + c];
        shared->addends[0][c] = chunk.sum;
        shared->addends[1][c] = chunk.sum_squares;
        shared->addends[2][c] = chunk.sum_logs;
      }
    });
    block.Phase([&](int thread) {
      const int which = thread / kWarpThreads;
      if (thread % kWarpThreads != 0 || which >= kFoldedSums) return;
      double mine = sum[thread];
#ifdef __CUDA_ARCH__
#pragma unroll 16
#endif
      for (int c = 0; c < size; ++c) {
        mine = AddRounded(mine, shared->addends[which][c]);
      }
      sum[thread] = mine;
    });
  }
  block.Phase([&](int thread) {
    shared->counts[thread] = counts[thread];
    if (thread == 0) total->sum = sum[thread];
    if (thread == kWarpThreads) total->sum_squares = sum[thread];
    if (thread == 2 * kWarpThreads) total->sum_logs = sum[thread];
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    ChunkStats* const group = shared->counts + thread * kGroupThreads;
    for (int t = 1; t < kGroupThreads; ++t) group[0].AddCounts(group[t]);
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    for (int g = 0; g < kNumGroups; ++g) {
      total->AddCounts(shared->counts[g * kGroupThreads]);
    }
  });
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_FOLD_H_
