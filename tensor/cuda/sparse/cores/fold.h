// Totals over the chunks of a vector, by one block.
//
// Sums have the bits of a loop that adds one chunk after the other, as the CPU
// does. The loop is cut into runs. As long as the sum stays within a power of
// two, each addition moves it by a whole number of its last places, which does
// not depend on where it began. So threads add up the runs at the same time,
// each from a guess of the sum before it; one thread then adds up by how much
// they moved, and repeats only the few runs in which the sum passes a power of
// two. In the end all runs are added up again from what was found. If one does
// not lead to the next, as where half a last place was rounded, all are added
// up in turn.
#ifndef TENSOR_CUDA_SPARSE_CORES_FOLD_H_
#define TENSOR_CUDA_SPARSE_CORES_FOLD_H_

#include <cmath>
#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// A sum, a sum of squares and a sum of logarithms, each by a warp.
constexpr int kFoldedSums = 3;
constexpr int kFoldRuns = 32;
constexpr int kFoldRunLength = 32;
constexpr int kFoldTile = kFoldRuns * kFoldRunLength;

// The addends of a sum, and the sum before each run.
struct FoldedSum {
  // Element i of run r is addends[i][r]: runs are read side by side. The last
  // column keeps the writes, by chunk, in different banks.
  double addends[kFoldRunLength][kFoldRuns + 1];
  double before[kFoldRuns + 1];  // At the end: after all.
  double moves[kFoldRuns];       // By how much the runs move the sum.
  bool in_turn[kFoldRuns];       // Which runs cannot be moved.

  PS_HOST_DEVICE void Put(int chunk, double x) {
    addends[chunk % kFoldRunLength][chunk / kFoldRunLength] = x;
  }

  // The sum after run r, if it is `sum` before it.
  PS_HOST_DEVICE double Add(int r, double sum) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < kFoldRunLength; ++i) {
      sum = AddRounded(sum, addends[i][r]);
    }
    return sum;
  }

  PS_HOST_DEVICE void Guess(int r) {
    moves[r] = Add(r, 0);
    in_turn[r] = false;
  }

  PS_HOST_DEVICE void Measure(int r) {
    constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
    const double first = before[r];
    const double power = DoubleFromBits(DoubleBits(first) & kExponent);
    const double half_place = MultiplyRounded(power, 0x1p-53);
    double sum = first;
    bool ties = false;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < kFoldRunLength; ++i) {
      const double x = addends[i][r];
      const double next = AddRounded(sum, x);
      // Exact while the sum is the larger one.
      const double lost = AddRounded(x, -AddRounded(next, -sum));
      ties = ties || std::fabs(lost) == half_place;
      sum = next;
    }
    moves[r] = AddRounded(sum, -first);
    in_turn[r] = ties || (DoubleBits(sum) & kExponent) != DoubleBits(power);
  }

  // By one thread.
  PS_HOST_DEVICE void Link() {
    for (int r = 0; r < kFoldRuns; ++r) {
      before[r + 1] =
          in_turn[r] ? Add(r, before[r]) : AddRounded(before[r], moves[r]);
    }
  }

  // Sees whether run r leads to the next one.
  PS_HOST_DEVICE void Check(int r) {
    in_turn[r] = DoubleBits(Add(r, before[r])) != DoubleBits(before[r + 1]);
  }

  // By one thread.
  PS_HOST_DEVICE void Repair() {
    bool wrong = false;
    for (const bool each : in_turn) wrong = wrong || each;
    if (!wrong) return;
    for (bool& each : in_turn) each = true;
    Link();
  }
};

union FoldShared {
  FoldedSum sums[kFoldedSums];
  ChunkStats counts[kSparseThreads];  // After the sums.

  PS_HOST_DEVICE FoldShared() {}
};

// Calls body(sum, run) for each, in one phase.
template <class Block, class Body>
PS_HOST_DEVICE void ForEachRun(Block& block, FoldShared* shared,
                               const Body& body) {
  block.Phase([&](int thread) {
    if (thread >= kFoldedSums * kFoldRuns) return;
    body(&shared->sums[thread / kFoldRuns], thread % kFoldRuns);
  });
}

// Runs in one block: *total over num_chunks. *total must not be in *shared.
template <class Block>
PS_DEVICE_CALL void FoldChunks(Block& block, const ChunkStats* stats,
                               int64_t num_chunks, FoldShared* shared,
                               ChunkStats* total) {
  typename Block::template PerThread<ChunkStats> counts;
  block.Phase([&](int thread) {
    counts[thread] = ChunkStats();
    if (thread < kFoldedSums) shared->sums[thread].before[kFoldRuns] = 0;
  });
  for (int64_t begin = 0; begin < num_chunks; begin += kFoldTile) {
    block.Phase([&](int thread) {
      for (int c = thread; c < kFoldTile; c += kSparseThreads) {
        ChunkStats chunk;
        if (begin + c < num_chunks) chunk = stats[begin + c];
        shared->sums[0].Put(c, chunk.sum);
        shared->sums[1].Put(c, chunk.sum_squares);
        shared->sums[2].Put(c, chunk.sum_logs);
        counts[thread].AddCounts(chunk);
      }
      if (thread >= kFoldedSums) return;
      FoldedSum& sum = shared->sums[thread];
      sum.before[0] = sum.before[kFoldRuns];
    });
    const auto link = [](FoldedSum* sum, int r) {
      if (r == 0) sum->Link();
    };
    ForEachRun(block, shared, [](FoldedSum* sum, int r) { sum->Guess(r); });
    ForEachRun(block, shared, link);
    ForEachRun(block, shared, [](FoldedSum* sum, int r) { sum->Measure(r); });
    ForEachRun(block, shared, link);
    ForEachRun(block, shared, [](FoldedSum* sum, int r) { sum->Check(r); });
    ForEachRun(block, shared, [](FoldedSum* sum, int r) {
      if (r == 0) sum->Repair();
    });
  }
  block.Phase([&](int thread) {
    if (thread != 0) return;
    *total = ChunkStats();
    total->sum = shared->sums[0].before[kFoldRuns];
    total->sum_squares = shared->sums[1].before[kFoldRuns];
    total->sum_logs = shared->sums[2].before[kFoldRuns];
  });
  block.Phase([&](int thread) { shared->counts[thread] = counts[thread]; });
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
