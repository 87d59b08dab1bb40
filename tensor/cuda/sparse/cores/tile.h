// Tiles of a chunk in a block's registers, and stable packing of some of their
// elements.
#ifndef TENSOR_CUDA_SPARSE_CORES_TILE_H_
#define TENSOR_CUDA_SPARSE_CORES_TILE_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The position of element i of a tile in shared memory, if each thread reads a
// run of kItemsPerThread elements: the padding puts what is read at the same
// time into different banks.
PS_HOST_DEVICE inline int PaddedIndex(int i) { return i + i / kItemsPerThread; }

constexpr int kPaddedTile = kSparseTile + kSparseTile / kItemsPerThread;
// Number of threads whose counts are added up by one of them.
constexpr int kGroupThreads = 16;
constexpr int kNumGroups = kSparseThreads / kGroupThreads;

// The elements [begin, begin + size) of what a block reads.
struct Tile {
  int64_t begin = 0;
  int size = 0;

  // The offset within the chunk of the tile's element i.
  PS_HOST_DEVICE uint32_t OffsetOf(const ChunkInput& part, int i) const {
    return part.listed ? part.offsets[begin + i]
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

// Calls body(k) for each of one thread's elements of a tile: element thread + k
// * kSparseThreads, so that neighbouring threads read neighbouring elements.
// The loop is unrolled: arrays by k are registers, and places differ by
// constants.
template <class Body>
PS_HOST_DEVICE inline void ForEachItem(const Tile& tile, int thread,
                                       const Body& body) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int k = 0; k < kItemsPerThread; ++k) {
    if (k * kSparseThreads < tile.size - thread) body(k);
  }
}

// Tells the compiler that a pointer is to the device's own memory, which it can
// read faster than what may be any memory.
template <class T>
PS_HOST_DEVICE inline T* OnDevice(T* data) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(data));
#endif
  return data;
}

// Loads one thread's elements of what a block reads, and forms the sum if there
// is one. Nothing is used before all loads are under way, so that a thread
// waits once, not for each. The rest of `items` is 0.
PS_HOST_DEVICE inline void LoadElements(const SparseInput& input,
                                        const ChunkInput& part,
                                        const Tile& tile, int thread,
                                        float (&items)[kItemsPerThread]) {
  const auto load = [&](const float* from, float(&to)[kItemsPerThread]) {
    const float* const mine = OnDevice(from) + thread;
    for (float& each : to) each = 0;
    ForEachItem(tile, thread, [&](int k) { to[k] = mine[k * kSparseThreads]; });
  };
  const int64_t first = part.begin + tile.begin;
  if (part.listed || input.residual == nullptr) {
    load(part.listed ? part.values + tile.begin : input.u + first, items);
    return;
  }
  float added[kItemsPerThread];
  load(input.residual + first, items);
  load(input.gradient + first, added);
  float* const sum = OnDevice(input.u) + first + thread;
  ForEachItem(tile, thread, [&](int k) {
    items[k] = AddRounded(items[k], added[k]);
    sum[k * kSparseThreads] = items[k];
  });
}

// Selects a range of magnitudes, at any offset.
struct WantedMagnitudes {
  MagnitudeRange range;

  PS_HOST_DEVICE bool operator()(float x, uint32_t) const {
    return range.Contains(x);
  }
};

// One thread's elements of a tile.
struct TileItems {
  float values[kItemsPerThread];
};

// Calls put(rank, offset, value) for the elements of a chunk, or of its list,
// that are `wanted`: wanted(value, offset) takes an element and its offset
// within the chunk. Ranks count in ascending order of offset.
template <class Block, class Wanted, class Put>
PS_HOST_DEVICE void PackChunk(Block& block, const SparseInput& input,
                              const ChunkInput& part, const Wanted& wanted,
                              PackTileShared* shared, const Put& put) {
  typename Block::template PerThread<TileItems> items;
  typename Block::template PerThread<uint32_t> masks;
  int packed = 0;
  for (int64_t begin = 0; begin < part.size; begin += kSparseTile) {
    const Tile tile = TileAt(part, begin);
    block.Each([&](int thread) {
      uint32_t mask = 0;
      float(&values)[kItemsPerThread] = items[thread].values;
      LoadElements(input, part, tile, thread, values);
      ForEachItem(tile, thread, [&](int k) {
        const int i = thread + k * kSparseThreads;
        if (wanted(values[k], tile.OffsetOf(part, i))) mask |= 1u << k;
      });
      masks[thread] = mask;
    });
    packed += block.Pack(masks, shared, [&](int thread, int k, int rank) {
      put(packed + rank, tile.OffsetOf(part, thread + k * kSparseThreads),
          items[thread].values[k]);
    });
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_TILE_H_
