// The k-th largest magnitude by histograms of its bits, 12, 12 and 7 at a time
// from the top. For .cu files.
#ifndef COMPRESSORS_CUDA_RANK_H_
#define COMPRESSORS_CUDA_RANK_H_

#include <cstdint>

#include "tensor/cuda/sparse/passes.h"

namespace ps {

struct RankShared {
  uint32_t bins[kHistogramBins];
  uint32_t bin;
  uint32_t wanted;
};

// Before FindRank, and at least one Sync or AddUp before it: clears the
// histograms. Every thread calls it.
__device__ inline void ClearHistograms(const Grid& grid) {
  constexpr int kCounts = sizeof(GridScratch::histograms) / sizeof(uint32_t);
  for (int64_t i = grid.thread(); i < kCounts; i += grid.num_threads()) {
    grid.scratch->histograms[0][i] = 0;
  }
}

// Finds the bin that holds the number `wanted` from the top, and what it is
// number of there. Every thread of the block calls it.
__device__ inline void FindBin(const uint32_t* histogram, uint32_t wanted,
                               PassShared* pass, RankShared* shared) {
  constexpr int kBinsEach = kHistogramBins / kPassThreads;
  const int top =
      kHistogramBins - 1 - static_cast<int>(threadIdx.x) * kBinsEach;
  uint64_t mine = 0;
  for (int i = 0; i < kBinsEach; ++i) mine += histogram[top - i];
  uint64_t before = 0;
  cub::BlockScan<uint64_t, kPassThreads>(pass->scan).ExclusiveSum(mine, before);
  if (before < wanted && wanted <= before + mine) {
    int bin = top;
    for (; before + histogram[bin] < wanted; --bin) before += histogram[bin];
    shared->bin = static_cast<uint32_t>(bin);
    shared->wanted = wanted - static_cast<uint32_t>(before);
  }
  __syncthreads();
}

// Returns a cut that selects exactly the k largest of the vector, k in [1, n];
// or of its lists, which then hold at least k elements. Every thread calls it.
__device__ inline Cut FindRank(const PassVector& vector, const KeptLists* lists,
                               int64_t k, Grid& grid, RankShared* shared) {
  constexpr int kShifts[] = {19, 7, 0};
  uint32_t low = 0;
  uint32_t wanted = static_cast<uint32_t>(k);
  int width = 31;
#pragma unroll 1
  for (int digit = 0; digit < 3; ++digit) {
    const int shift = kShifts[digit];
    for (int b = threadIdx.x; b < kHistogramBins; b += kPassThreads) {
      shared->bins[b] = 0;
    }
    __syncthreads();
    BlockSegments(vector.n).ForWarp([&](int64_t segment) {
      ForTiles(vector, lists, segment,
               [&](const float(&x)[kItems], const Tile& tile) {
                 const uint32_t mask = tile.Mask();
#pragma unroll
                 for (int i = 0; i < kItems; ++i) {
                   // Smaller bits become a place that is too high.
                   const uint32_t place = Magnitude(x[i]) - low;
                   if ((mask >> i & 1) != 0 && place < 1u << width) {
                     atomicAdd(&shared->bins[place >> shift], 1u);
                   }
                 }
               });
    });
    __syncthreads();
    uint32_t* const histogram = grid.scratch->histograms[digit];
    for (int b = threadIdx.x; b < kHistogramBins; b += kPassThreads) {
      if (shared->bins[b] != 0) atomicAdd(&histogram[b], shared->bins[b]);
    }
    grid.Sync();
    FindBin(histogram, wanted, grid.shared, shared);
    low += shared->bin << shift;
    wanted = shared->wanted;
    width = shift;
    __syncthreads();
  }
  Cut cut;
  cut.low = low;
  cut.width = kInfinity - low;
  cut.num_equal = wanted;
  return cut;
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_RANK_H_
