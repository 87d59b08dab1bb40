// The work of a grid of blocks that draws the same subset of n numbers as
// DrawSubset (compressors/selectors/random_subset.h), and takes these elements
// of a vector. For host and device.
//
// DrawSubset draws until it has as many distinct numbers as it needs. If some
// are missing, at least that many more draws are needed. So the grid makes that
// many draws at once and marks the numbers drawn, then as many as are still
// missing, and so on. It ends with the same marks as one draw after the other.
#ifndef COMPRESSORS_CUDA_SUBSET_GRID_H_
#define COMPRESSORS_CUDA_SUBSET_GRID_H_

#include <cstdint>

#include "common/host_device.h"
#include "common/random.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/select.h"
#include "tensor/cuda/sparse/cores/sift.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

constexpr int kMarksPerWord = 32;
constexpr int kMarkWordsPerThread =
    kSparseChunk / kMarksPerWord / kSparseThreads;

PS_HOST_DEVICE inline int64_t NumMarkWords(int64_t n) {
  return (n + kMarksPerWord - 1) / kMarksPerWord;
}

// A draw of k of the numbers 0 .. n - 1.
struct SubsetDraw {
  uint64_t key = 0;  // The key of the random stream.
  int64_t n = 0;
  int64_t k = 0;
  uint32_t* marks = nullptr;  // [NumMarkWords(n)], in device memory.

  // Whether the marks are the numbers that are not drawn.
  PS_HOST_DEVICE bool complement() const { return k > n / 2; }
};

// In device memory. One block writes it while the others wait; all blocks add
// to num_new.
struct SubsetState {
  int64_t missing = 0;  // Numbers still to be marked.
  uint64_t drawn = 0;   // Draws made so far.
  unsigned long long num_new = 0;
};

// The shared memory of a block in one phase.
struct SubsetShared {
  uint32_t counts[kSparseThreads];
  uint32_t group_counts[kNumGroups];
};

// The numbers drawn among the kMarksPerWord numbers from word * kMarksPerWord
// on, one bit each: the marked ones, or with complement() the others.
PS_HOST_DEVICE inline uint32_t DrawnOfWord(const SubsetDraw& draw,
                                           int64_t word) {
  const int64_t left = draw.n - word * kMarksPerWord;
  if (left <= 0) return 0;
  if (!draw.complement()) return draw.marks[word];
  const uint32_t others = ~draw.marks[word];
  return left < kMarksPerWord ? others & ((1u << left) - 1) : others;
}

// One block makes its share of as many draws as are missing.
template <class Block>
PS_HOST_DEVICE void MarkDraws(Block& block, const SubsetDraw& draw, int64_t b,
                              int64_t num_blocks, SubsetShared* shared,
                              SubsetState* state) {
  block.Phase([&](int thread) {
    if (thread == 0) shared->counts[0] = 0;
  });
  const int64_t missing = state->missing;
  block.Phase([&](int thread) {
    uint32_t num_new = 0;
    for (int64_t i = b * kSparseThreads + thread; i < missing;
         i += num_blocks * kSparseThreads) {
      RandomStream random(draw.key, state->drawn + static_cast<uint64_t>(i));
      uint64_t number = 0;
      if (!random.TryBelow(static_cast<uint64_t>(draw.n), &number)) continue;
      const uint32_t bit = 1u << number % kMarksPerWord;
      const uint32_t before =
          AtomicOr(&draw.marks[number / kMarksPerWord], bit);
      if ((before & bit) == 0) ++num_new;
    }
    if (num_new > 0) AtomicAdd(&shared->counts[0], num_new);
  });
  block.Phase([&](int thread) {
    if (thread == 0 && shared->counts[0] > 0) {
      AtomicAdd(&state->num_new, shared->counts[0]);
    }
  });
}

// The first word of a thread's part of a chunk.
PS_HOST_DEVICE inline int64_t FirstMarkWord(int64_t chunk, int thread) {
  return (chunk * kSparseThreads + thread) * kMarkWordsPerThread;
}

// One block: counts the numbers drawn in a chunk, per thread and per group.
template <class Block>
PS_HOST_DEVICE void CountDrawn(Block& block, const SubsetDraw& draw,
                               int64_t chunk, SubsetShared* shared) {
  block.Phase([&](int thread) {
    const int64_t first = FirstMarkWord(chunk, thread);
    uint32_t count = 0;
    for (int w = 0; w < kMarkWordsPerThread; ++w) {
      count += CountOnes(DrawnOfWord(draw, first + w));
    }
    shared->counts[thread] = count;
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    uint32_t count = 0;
    for (int t = 0; t < kGroupThreads; ++t) {
      count += shared->counts[thread * kGroupThreads + t];
    }
    shared->group_counts[thread] = count;
  });
}

// One block: writes the drawn elements of u in a chunk, and their indices
// unless `indices` is null. bases: prefix sums of the chunks' counts.
template <class Block>
PS_HOST_DEVICE void TakeDrawn(Block& block, const SubsetDraw& draw,
                              const float* u, const int64_t* bases,
                              int64_t chunk, SubsetShared* shared,
                              uint32_t* indices, float* values) {
  CountDrawn(block, draw, chunk, shared);
  block.Phase([&](int thread) {
    if (shared->counts[thread] == 0) return;
    const int group = thread / kGroupThreads;
    int64_t at = bases[chunk];
    for (int g = 0; g < group; ++g) at += shared->group_counts[g];
    for (int t = group * kGroupThreads; t < thread; ++t) {
      at += shared->counts[t];
    }
    const int64_t first = FirstMarkWord(chunk, thread);
    for (int w = 0; w < kMarkWordsPerThread; ++w) {
      uint32_t drawn = DrawnOfWord(draw, first + w);
      for (; drawn != 0; drawn &= drawn - 1) {
        // The position of the lowest set bit: the number of bits below it.
        const int place = CountOnes((drawn & (0 - drawn)) - 1);
        const int64_t i = (first + w) * kMarksPerWord + place;
        if (indices != nullptr) indices[at] = static_cast<uint32_t>(i);
        values[at] = u[i];
        ++at;
      }
    }
  });
}

// The whole draw: marks what is drawn, and counts it by chunk for TakeSubset.
// stats: [chunks], bases: [chunks + 1]. tensor/cuda/sparse/cores/host_device.h
// describes a Grid; its shared memory must have a SubsetShared `subset` and a
// ScanShared `scan`.
template <class Grid>
PS_HOST_DEVICE void MarkSubset(Grid& grid, const SubsetDraw& draw,
                               ChunkStats* stats, int64_t* bases,
                               SubsetState* state) {
  const int64_t num_chunks = NumSparseChunks(draw.n);
  grid.Phase([&](auto& block, int64_t b, int64_t num_blocks, auto*) {
    const int64_t num_words = NumMarkWords(draw.n);
    block.Phase([&](int thread) {
      for (int64_t w = b * kSparseThreads + thread; w < num_words;
           w += num_blocks * kSparseThreads) {
        draw.marks[w] = 0;
      }
      if (b != 0 || thread != 0) return;
      *state = SubsetState();
      state->missing = draw.complement() ? draw.n - draw.k : draw.k;
    });
  });
  while (state->missing > 0) {
    grid.Phase(
        [&](auto& block, int64_t b, int64_t num_blocks, auto* shared) {
          MarkDraws(block, draw, b, num_blocks, &shared->subset, state);
        },
        [&](auto& block, auto*) {
          block.Phase([&](int thread) {
            if (thread != 0) return;
            state->drawn += static_cast<uint64_t>(state->missing);
            state->missing -= static_cast<int64_t>(state->num_new);
            state->num_new = 0;
          });
        });
  }
  grid.Phase(
      [&](auto& block, int64_t b, int64_t num_blocks, auto* shared) {
        for (int64_t c = b; c < num_chunks; c += num_blocks) {
          CountDrawn(block, draw, c, &shared->subset);
          block.Phase([&](int thread) {
            if (thread != 0) return;
            int64_t count = 0;
            for (int g = 0; g < kNumGroups; ++g) {
              count += shared->subset.group_counts[g];
            }
            stats[c].count = count;
          });
        }
      },
      [&](auto& block, auto* shared) {
        ScanCounts(block, stats, num_chunks, &shared->scan, bases);
      });
}

// One block writes its share of the drawn elements of u, after MarkSubset, and
// their indices unless `indices` is null.
template <class Block>
PS_HOST_DEVICE void TakeSubset(Block& block, const SubsetDraw& draw,
                               const float* u, const int64_t* bases, int64_t b,
                               int64_t num_blocks, SubsetShared* shared,
                               uint32_t* indices, float* values) {
  for (int64_t c = b; c < NumSparseChunks(draw.n); c += num_blocks) {
    TakeDrawn(block, draw, u, bases, c, shared, indices, values);
  }
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SUBSET_GRID_H_
