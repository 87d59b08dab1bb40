// A tile of a chunk in a block's shared memory, and stable packing of some of
// its elements.
#ifndef TENSOR_CUDA_SPARSE_CORES_TILE_H_
#define TENSOR_CUDA_SPARSE_CORES_TILE_H_

#include <cstdint>
#include <type_traits>

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

// Calls body(whole), where `whole` is a constant that is true if the tile is a
// full one: loops over it then have no bounds to check, and no registers taken
// by that.
template <class Body>
PS_HOST_DEVICE inline void BySize(const Tile& tile, const Body& body) {
  if (tile.size == kSparseTile) {
    body(std::true_type());
  } else {
    body(std::false_type());
  }
}

// Calls body(k) for each of one thread's elements of a tile: element thread + k
// * kSparseThreads, so that neighbouring threads read neighbouring elements.
// The loop is unrolled: arrays by k are registers, and places differ by
// constants.
template <class Whole, class Body>
PS_HOST_DEVICE inline void ForEachItem(Whole, const Tile& tile, int thread,
                                       const Body& body) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < kItemsPerThread; ++k) {
    if (Whole::value || k * kSparseThreads < tile.size - thread) body(k);
  }
}

// The distance between the places of a thread's elements k and k + 1 in a tile.
constexpr int kPaddedStep = kSparseThreads + kSparseThreads / kItemsPerThread;

// Loads one thread's elements of an array. Nothing is used before all loads are
// under way, so that a thread waits once, not for each.
template <class Whole, class T>
PS_HOST_DEVICE inline void LoadItems(Whole whole, const T* from,
                                     const Tile& tile, int thread,
                                     T (&items)[kItemsPerThread]) {
  const T* const mine = from + thread;
  ForEachItem(whole, tile, thread,
              [&](int k) { items[k] = mine[k * kSparseThreads]; });
}

// Loads one thread's elements of what a block reads, and forms the sum if there
// is one.
template <class Whole>
PS_HOST_DEVICE inline void LoadElements(Whole whole, const SparseInput& input,
                                        const ChunkInput& part,
                                        const Tile& tile, int thread,
                                        float (&items)[kItemsPerThread]) {
  const int64_t first = part.begin + tile.begin;
  if (part.listed || input.residual == nullptr) {
    LoadItems(whole, part.listed ? part.values + tile.begin : input.u + first,
              tile, thread, items);
    return;
  }
  float added[kItemsPerThread];
  LoadItems(whole, input.residual + first, tile, thread, items);
  LoadItems(whole, input.gradient + first, tile, thread, added);
  float* const sum = input.u + first + thread;
  ForEachItem(whole, tile, thread, [&](int k) {
    items[k] = AddRounded(items[k], added[k]);
    sum[k * kSparseThreads] = items[k];
  });
}

// One thread's part of loading a tile into shared memory. Calls see(element)
// for each.
template <class See>
PS_HOST_DEVICE inline void LoadTile(const SparseInput& input,
                                    const ChunkInput& part, const Tile& tile,
                                    int thread, TileShared* shared, See see) {
  const int first = PaddedIndex(thread);
  BySize(tile, [&](auto whole) {
    float items[kItemsPerThread];
    LoadElements(whole, input, part, tile, thread, items);
    ForEachItem(whole, tile, thread, [&](int k) {
      shared->values[first + k * kPaddedStep] = items[k];
      see(items[k]);
    });
  });
  if (!part.listed) return;
  BySize(tile, [&](auto whole) {
    uint16_t offsets[kItemsPerThread];
    LoadItems(whole, part.offsets + tile.begin, tile, thread, offsets);
    ForEachItem(whole, tile, thread, [&](int k) {
      shared->offsets[first + k * kPaddedStep] = offsets[k];
    });
  });
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
