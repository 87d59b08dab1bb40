// What the passes over long vectors read: chunks of a vector, of the sum of
// two, or lists of some elements of a chunk.
//
// Chunks and lanes are those of the CPU's kernels (tensor/cpu), so that sums
// have the CPU's bits: every chunk of kChunk elements is added up in kLanes
// lanes, by index modulo kLanes, in the order of the indices, in double; then
// the lanes, in order; then the chunks, in order.
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

// Elements of a chunk that are kept aside at most: from more, it costs less to
// read the chunk again than to look for a lane's elements in the list.
constexpr int kListCapacity = kSparseChunk / 8;

PS_HOST_DEVICE inline int64_t NumSparseChunks(int64_t n) {
  return (n + kSparseChunk - 1) / kSparseChunk;
}

// Vectors have fewer than 2^32 elements.
constexpr int64_t kMaxSparseChunks = (int64_t{1} << 32) / kSparseChunk;

constexpr uint32_t kMagnitudeMask = 0x7fffffff;
constexpr uint32_t kInfinityBits = 0x7f800000;

// Magnitudes by their bits, without the sign: those in [low, low + width).
struct MagnitudeRange {
  uint32_t low = 0;
  uint32_t width = 0;

  PS_HOST_DEVICE bool Contains(float x) const {
    return (FloatBits(x) & kMagnitudeMask) - low < width;
  }

  // |x| > threshold, of numbers: everything if it is negative, and nothing if
  // it is infinite or no number.
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

// For each chunk of a vector, some of its elements in ascending order of index.
// Pointers are to the device's memory.
struct KeptLists {
  uint16_t* offsets = nullptr;  // [chunks, kListCapacity], within the chunk.
  float* values = nullptr;      // [chunks, kListCapacity]
  // [chunks]. Above kListCapacity: so many there would have been, and there is
  // no list.
  uint32_t* sizes = nullptr;
};

// A vector u of n elements.
struct SparseInput {
  // If not null: u = residual + gradient is formed, and written.
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;
  // Whether the lists, where they are, hold all elements that are looked for.
  bool use_lists = false;
  KeptLists lists;
};

// What one block reads of it.
struct ChunkInput {
  int64_t begin = 0;  // The chunk's first element.
  int64_t size = 0;   // Elements to be read: of the chunk or of its list.
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
  if (listed > kListCapacity) return part;
  part.listed = true;
  part.size = listed;
  part.offsets = input.lists.offsets + chunk * kListCapacity;
  part.values = input.lists.values + chunk * kListCapacity;
  return part;
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_ELEMENTS_H_
