// The input of passes over long vectors: chunks of a vector, chunks of the sum
// of two vectors, or lists of some elements of a chunk.
//
// Chunks and lanes are those of the CPU's kernels (tensor/cpu), so that sums
// have the same bits as the CPU's. Every chunk of kSparseChunk elements is
// added up in kSparseLanes lanes, by index modulo kSparseLanes, in the order of
// the indices and in double; then the lanes are added in order, and then the
// chunks.
#ifndef TENSOR_CUDA_SPARSE_CORES_ELEMENTS_H_
#define TENSOR_CUDA_SPARSE_CORES_ELEMENTS_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

constexpr int64_t kSparseChunk = 64 * 1024;
constexpr int kSparseLanes = 16;

// A block works on one chunk, a tile at a time.
constexpr int kSparseThreads = 256;
constexpr int kItemsPerThread = 16;
constexpr int kSparseTile = kSparseThreads * kItemsPerThread;

// Threads that a device runs together.
constexpr int kWarpThreads = 32;
constexpr int kSparseWarps = kSparseThreads / kWarpThreads;

// A block's shared memory for Pack (host_device.h).
struct PackTileShared {
  // Of the wanted elements, by k and warp; of two calls in turn.
  alignas(16) int counts[2][kItemsPerThread * kSparseWarps];
};

// The maximum number of elements of a chunk that are kept aside, unless fewer
// are worth it.
constexpr int kListCapacity = kSparseChunk / 8;

PS_HOST_DEVICE inline int64_t NumSparseChunks(int64_t n) {
  return (n + kSparseChunk - 1) / kSparseChunk;
}

// Vectors have fewer than 2^32 elements.
constexpr int64_t kMaxSparseChunks = (int64_t{1} << 32) / kSparseChunk;

constexpr uint32_t kMagnitudeMask = 0x7fffffff;
constexpr uint32_t kInfinityBits = 0x7f800000;

// A range of magnitudes, by their bits without the sign: those in [low, low +
// width).
struct MagnitudeRange {
  uint32_t low = 0;
  uint32_t width = 0;

  PS_HOST_DEVICE bool Contains(float x) const {
    return (FloatBits(x) & kMagnitudeMask) - low < width;
  }

  // The numbers with |x| > threshold: all numbers if the threshold is negative,
  // and none if it is infinite or NaN.
  PS_HOST_DEVICE static MagnitudeRange Above(float threshold) {
    MagnitudeRange range;
    if (threshold < 0) {
      range.width = kInfinityBits + 1;
    } else if (threshold >= 0) {
      const uint32_t bits = FloatBits(threshold) & kMagnitudeMask;
      range.low = bits + 1;
      range.width = kInfinityBits - bits;
    }
    return range;
  }

  PS_HOST_DEVICE static MagnitudeRange Equal(float magnitude) {
    MagnitudeRange range;
    range.low = FloatBits(magnitude) & kMagnitudeMask;
    range.width = 1;
    return range;
  }
};

// Some elements of each chunk of a vector, in ascending order of index.
// Pointers are to the device's memory.
struct KeptLists {
  uint32_t capacity = 0;        // For each chunk; at most kSparseChunk.
  uint16_t* offsets = nullptr;  // [chunks, capacity], within the chunk.
  float* values = nullptr;      // [chunks, capacity]
  // [chunks]. A size above `capacity` is the number of elements that would have
  // been listed, and means that there is no list.
  uint32_t* sizes = nullptr;
};

// A vector u of n elements.
struct SparseInput {
  // If not null, u = residual + gradient is computed and written.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;
  // Whether the lists, for chunks that have one, hold all elements that are
  // looked for.
  bool use_lists = false;
  KeptLists lists;
};

// The part of the input that one block reads.
struct ChunkInput {
  int64_t begin = 0;  // The chunk's first element.
  int64_t size = 0;   // Elements to read: of the chunk or of its list.
  bool listed = false;
  const uint16_t* offsets = nullptr;  // [size] if listed.
  const float* values = nullptr;      // [size] if listed.
};

PS_HOST_DEVICE inline ChunkInput ChunkOf(const SparseInput& input,
                                         int64_t chunk) {
  ChunkInput part;
  part.begin = chunk * kSparseChunk;
  part.size = input.n - part.begin;
  if (part.size > kSparseChunk) part.size = kSparseChunk;
  if (!input.use_lists) return part;
  const uint32_t listed = input.lists.sizes[chunk];
  if (listed > input.lists.capacity) return part;
  part.listed = true;
  part.size = listed;
  part.offsets = input.lists.offsets + chunk * input.lists.capacity;
  part.values = input.lists.values + chunk * input.lists.capacity;
  return part;
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_ELEMENTS_H_
