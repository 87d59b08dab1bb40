// Exclusive scans over the threads of a block, and over many chunks: sums of
// lengths, and last positions.
#ifndef COMPRESSORS_CUDA_ENCODING_BLOCK_SCAN_H_
#define COMPRESSORS_CUDA_ENCODING_BLOCK_SCAN_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// A length per thread, and their sums over groups of kGroupThreads.
struct LengthShared {
  int64_t lengths[kSparseThreads];
  int64_t group_lengths[kNumGroups];
};

// Call after a phase that has filled `lengths`.
template <class Block>
PS_HOST_DEVICE void SumGroups(Block& block, LengthShared* shared) {
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    int64_t length = 0;
    for (int t = 0; t < kGroupThreads; ++t) {
      length += shared->lengths[thread * kGroupThreads + t];
    }
    shared->group_lengths[thread] = length;
  });
}

// The sum of all threads' lengths before this one's, after SumGroups.
PS_HOST_DEVICE inline int64_t LengthBefore(const LengthShared& shared,
                                           int thread) {
  const int group = thread / kGroupThreads;
  int64_t length = 0;
  for (int g = 0; g < group; ++g) length += shared.group_lengths[g];
  for (int t = group * kGroupThreads; t < thread; ++t) {
    length += shared.lengths[t];
  }
  return length;
}

PS_HOST_DEVICE inline int64_t TotalLength(const LengthShared& shared) {
  int64_t length = 0;
  for (int g = 0; g < kNumGroups; ++g) length += shared.group_lengths[g];
  return length;
}

// One block: replaces each of the `count` lengths that at(k) refers to with the
// sum of those before it, and at(count) with the sum of all.
template <class Block, class At>
PS_HOST_DEVICE void ScanLengths(Block& block, int64_t count,
                                LengthShared* shared, At at) {
  // Each thread scans a run of them.
  const int64_t run = (count + kSparseThreads - 1) / kSparseThreads;
  const auto begin_of = [count, run](int thread) {
    return thread * run < count ? thread * run : count;
  };
  block.Phase([&](int thread) {
    int64_t length = 0;
    for (int64_t k = begin_of(thread); k < begin_of(thread + 1); ++k) {
      length += at(k);
    }
    shared->lengths[thread] = length;
  });
  SumGroups(block, shared);
  block.Phase([&](int thread) {
    int64_t before = LengthBefore(*shared, thread);
    for (int64_t k = begin_of(thread); k < begin_of(thread + 1); ++k) {
      const int64_t length = at(k);
      at(k) = before;
      before += length;
    }
    if (thread == kSparseThreads - 1) at(count) = before;
  });
}

// A position per thread, -1 if it has none, and the last of each group of
// kGroupThreads.
struct LastShared {
  int64_t lasts[kSparseThreads];
  int64_t group_lasts[kNumGroups];
};

PS_HOST_DEVICE inline int64_t Later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// Call after a phase that has filled `lasts`.
template <class Block>
PS_HOST_DEVICE void FindGroupLasts(Block& block, LastShared* shared) {
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    int64_t last = -1;
    for (int t = 0; t < kGroupThreads; ++t) {
      last = Later(last, shared->lasts[thread * kGroupThreads + t]);
    }
    shared->group_lasts[thread] = last;
  });
}

// The last position among the threads before this one, after FindGroupLasts.
PS_HOST_DEVICE inline int64_t LastBefore(const LastShared& shared, int thread) {
  const int group = thread / kGroupThreads;
  int64_t last = -1;
  for (int g = 0; g < group; ++g) last = Later(last, shared.group_lasts[g]);
  for (int t = group * kGroupThreads; t < thread; ++t) {
    last = Later(last, shared.lasts[t]);
  }
  return last;
}

PS_HOST_DEVICE inline int64_t LastOfAll(const LastShared& shared) {
  int64_t last = -1;
  for (int g = 0; g < kNumGroups; ++g) {
    last = Later(last, shared.group_lasts[g]);
  }
  return last;
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_BLOCK_SCAN_H_
