// Draws the same subset of n numbers as DrawSubset
// (compressors/selectors/random_subset.h), and takes these elements of a
// vector. For .cu files.
//
// DrawSubset draws until it has as many distinct numbers as it needs. If some
// are missing, at least that many more draws are needed. So the grid makes that
// many draws at once and marks the numbers drawn, then as many as are still
// missing, and so on. It ends with the same marks as one draw after the other.
#ifndef COMPRESSORS_CUDA_SUBSET_H_
#define COMPRESSORS_CUDA_SUBSET_H_

#include <cstdint>

#include "common/random.h"
#include "tensor/cuda/sparse/passes.h"

namespace ps {

constexpr int kMarksOfWord = 32;
inline int64_t NumMarkWords(int64_t n) {
  return (n + kMarksOfWord - 1) / kMarksOfWord;
}

// A draw of k of the numbers 0 .. n - 1.
struct SubsetDraw {
  uint64_t key = 0;  // The key of the random stream.
  int64_t n = 0;
  int64_t k = 0;
  uint32_t* marks = nullptr;  // [NumMarkWords(n)], in device memory.

  // Whether the marks are the numbers that are not drawn.
  __device__ bool complement() const { return k > n / 2; }
  // The numbers drawn of the kMarksOfWord from word * kMarksOfWord on.
  __device__ uint32_t Drawn(int64_t word) const {
    const int64_t left = n - word * kMarksOfWord;
    if (left <= 0) return 0;
    if (!complement()) return marks[word];
    const uint32_t others = ~marks[word];
    return left < kMarksOfWord ? others & ((1u << left) - 1) : others;
  }
};

// Each lane has some neighbouring words of a segment.
constexpr int kWordsOfLane = kSegment / kMarksOfWord / kWarp;

// Marks what is drawn, and counts it by segment. Every thread calls it.
__device__ inline void MarkSubset(const SubsetDraw& draw, Grid& grid) {
  const int64_t num_words = (draw.n + kMarksOfWord - 1) / kMarksOfWord;
  for (int64_t w = grid.thread(); w < num_words; w += grid.num_threads()) {
    draw.marks[w] = 0;
  }
  grid.Sync();
  int64_t missing = draw.complement() ? draw.n - draw.k : draw.k;
  uint64_t drawn = 0;
  while (missing > 0) {
    uint64_t num_new = 0;
    for (int64_t i = grid.thread(); i < missing; i += grid.num_threads()) {
      RandomStream random(draw.key, drawn + static_cast<uint64_t>(i));
      uint64_t number = 0;
      if (!random.TryBelow(static_cast<uint64_t>(draw.n), &number)) continue;
      const uint32_t bit = 1u << number % kMarksOfWord;
      const uint32_t before = atomicOr(&draw.marks[number / kMarksOfWord], bit);
      if ((before & bit) == 0) ++num_new;
    }
    PassTotals found;
    found.counts = num_new;
    AddUp(found, grid);
    drawn += static_cast<uint64_t>(missing);
    missing -= static_cast<int64_t>(grid.shared->total.counts);
    __syncthreads();
  }
  PassTotals mine;
  BlockSegments(draw.n).ForWarp([&](int64_t segment) {
    const int64_t first = (segment * kWarp + Lane()) * kWordsOfLane;
    uint64_t count = 0;
    for (int w = 0; w < kWordsOfLane; ++w)
      count += __popc(draw.Drawn(first + w));
    count = WarpSum(count);
    if (Lane() != 0) return;
    grid.scratch->segment_counts[segment] = count;
    mine.counts += count;
  });
  AddUp(mine, grid);
}

// Calls put(rank, index) for the numbers drawn, in ascending order, after
// MarkSubset. Every thread calls it.
template <class Put>
__device__ void ForSubset(const SubsetDraw& draw, Grid& grid, const Put& put) {
  ForCounted(draw.n, grid, [&](int64_t segment, uint64_t, uint64_t base) {
    const int64_t first = (segment * kWarp + Lane()) * kWordsOfLane;
    uint32_t words[kWordsOfLane];
    uint32_t count = 0;
#pragma unroll
    for (int w = 0; w < kWordsOfLane; ++w) {
      words[w] = draw.Drawn(first + w);
      count += __popc(words[w]);
    }
    uint32_t up_to = count;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const uint32_t other = __shfl_up_sync(kAllLanes, up_to, distance);
      if (Lane() >= distance) up_to += other;
    }
    int64_t rank = static_cast<int64_t>(base) + (up_to - count);
#pragma unroll
    for (int w = 0; w < kWordsOfLane; ++w) {
      for (uint32_t word = words[w]; word != 0; word &= word - 1) {
        put(rank++, static_cast<uint32_t>((first + w) * kMarksOfWord +
                                          __ffs(word) - 1));
      }
    }
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_SUBSET_H_
