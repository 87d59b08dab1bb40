// A tile of a chunk in a block's shared memory, and stable packing of some of
// its elements.
#ifndef TENSOR_CUDA_SPARSE_CORES_TILE_H_
#define TENSOR_CUDA_SPARSE_CORES_TILE_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The position of element i of a tile. The padding puts elements that are read
// at the same time into different banks, both where each thread reads a run of
// kItemsPerThread elements and where neighbouring threads read neighbouring
// lanes.
PS_HOST_DEVICE inline int PaddedIndex(int i) { return i + i / kItemsPerThread; }

constexpr int kPaddedTile = kSparseTile + kSparseTile / kItemsPerThread;
// Number of threads whose counts are added up by one of them.
constexpr int kGroupThreads = 16;
constexpr int kNumGroups = kSparseThreads / kGroupThreads;

struct TileShared {
  float values[kPaddedTile];
  uint16_t offsets[kPaddedTile];  // For a list.
  int counts[kSparseThreads];
  int group_counts[kNumGroups];
};

// The elements [begin, begin + size) of what a block reads, in shared memory.
struct Tile {
  int64_t begin = 0;
  int size = 0;

  // The offset within the chunk of the tile's element i.
  PS_HOST_DEVICE uint32_t OffsetOf(const ChunkInput& part, int i,
                                   const TileShared& shared) const {
    return part.listed ? shared.offsets[PaddedIndex(i)]
                       : static_cast<uint32_t>(begin) + i;
  }
};

PS_HOST_DEVICE inline Tile TileAt(const ChunkInput& part, int64_t begin) {
  Tile tile;
  tile.begin = begin;
  const int64_t left = part.size - begin;
  tile.size = static_cast<int>(left < kSparseTile ? left : kSparseTile);
  return tile;
}

// One thread's part of loading a tile into shared memory: elements thread,
// thread + kSparseThreads, and so on, so that neighbouring threads read
// neighbouring elements. All elements are loaded before any is stored, so that
// the loads overlap. Calls see(element) for each.
template <class See>
PS_HOST_DEVICE inline void LoadTile(const SparseInput& input,
                                    const ChunkInput& part, const Tile& tile,
                                    int thread, TileShared* shared, See see) {
  float loaded[kItemsPerThread];
  const int64_t first = part.begin + tile.begin;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < kItemsPerThread; ++k) {
    const int i = k * kSparseThreads + thread;
    if (i >= tile.size) {
      loaded[k] = 0;
    } else if (part.listed) {
      loaded[k] = part.values[tile.begin + i];
    } else if (input.residual != nullptr) {
      loaded[k] =
          AddRounded(input.residual[first + i], input.gradient[first + i]);
    } else {
      loaded[k] = input.u[first + i];
    }
  }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < kItemsPerThread; ++k) {
    const int i = k * kSparseThreads + thread;
    if (i >= tile.size) continue;
    if (!part.listed && input.residual != nullptr) {
      input.u[first + i] = loaded[k];
    }
    if (part.listed) {
      shared->offsets[PaddedIndex(i)] = part.offsets[tile.begin + i];
    }
    shared->values[PaddedIndex(i)] = loaded[k];
    see(loaded[k]);
  }
}

// A bit for each of a thread's run of kItemsPerThread elements that is wanted.
// wanted(x, offset) takes an element and its offset within the chunk.
template <class Wanted>
PS_HOST_DEVICE uint32_t MaskOfRun(const ChunkInput& part, const Tile& tile,
                                  const Wanted& wanted, int thread,
                                  const TileShared& shared) {
  uint32_t mask = 0;
  for (int k = 0; k < kItemsPerThread; ++k) {
    const int i = thread * kItemsPerThread + k;
    if (i < tile.size &&
        wanted(shared.values[PaddedIndex(i)], tile.OffsetOf(part, i, shared))) {
      mask |= 1u << k;
    }
  }
  return mask;
}

// Selects a range of magnitudes, at any offset.
struct WantedMagnitudes {
  MagnitudeRange range;

  PS_HOST_DEVICE bool operator()(float x, uint32_t) const {
    return range.Contains(x);
  }
};

// Calls put(rank, offset, value) for the elements of a loaded tile that are
// `wanted`, in ascending order of offset. Ranks count from `packed`; offsets
// are within the chunk. Returns `packed` plus the number of elements, to every
// thread. A phase must have ended since the tile was loaded.
template <class Block, class Wanted, class Put>
PS_HOST_DEVICE int PackTile(Block& block, const ChunkInput& part,
                            const Tile& tile, const Wanted& wanted, int packed,
                            TileShared* shared, Put put) {
  typename Block::template PerThread<uint32_t> masks;
  block.Phase([&](int thread) {
    masks[thread] = MaskOfRun(part, tile, wanted, thread, *shared);
    shared->counts[thread] = CountOnes(masks[thread]);
  });
  block.Phase([&](int thread) {
    if (thread >= kNumGroups) return;
    int count = 0;
    for (int t = 0; t < kGroupThreads; ++t) {
      count += shared->counts[thread * kGroupThreads + t];
    }
    shared->group_counts[thread] = count;
  });
  block.Phase([&](int thread) {
    if (masks[thread] == 0) return;
    const int group = thread / kGroupThreads;
    int rank = packed;
    for (int g = 0; g < group; ++g) rank += shared->group_counts[g];
    for (int t = group * kGroupThreads; t < thread; ++t) {
      rank += shared->counts[t];
    }
    for (int k = 0; k < kItemsPerThread; ++k) {
      if ((masks[thread] >> k & 1) == 0) continue;
      const int i = thread * kItemsPerThread + k;
      put(rank, tile.OffsetOf(part, i, *shared),
          shared->values[PaddedIndex(i)]);
      ++rank;
    }
  });
  // group_counts are next written two phases from here.
  for (int g = 0; g < kNumGroups; ++g) packed += shared->group_counts[g];
  return packed;
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_TILE_H_
