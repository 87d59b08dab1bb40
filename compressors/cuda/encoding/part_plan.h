// The state of a payload under construction, which host and device share.
#ifndef COMPRESSORS_CUDA_ENCODING_PART_PLAN_H_
#define COMPRESSORS_CUDA_ENCODING_PART_PLAN_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/cuda/encoding/level_scratch.h"
#include "compressors/payload/code_numbers.h"
#include "compressors/value_codes/level_layouts.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/sparse/cores/elements.h"

namespace ps {

// The number of elements that a block works on. A chunk belongs to one part and
// starts at a multiple of this, counted from the part's first element, so the
// parts of a batch do not depend on each other.
constexpr int kEncodeChunk = kSparseTile;
static_assert(kEncodeChunk == kSumChunk, "values are added up by chunks");

// The parameters for writing values.
struct ValuePacking {
  ValueCode code = ValueCode::kFp32;
  float threshold = 0;       // "two_bit_threshold".
  double clip = 0;           // "ternary".
  bool unit_scale = false;   // "sign": 1 instead of the mean magnitude.
  int bits = 0;              // The width of a level code.
  uint32_t bucket_size = 0;  // Values per scale; 0 for other codes.
  bool euclidean = false;    // The scale is their norm, else the maximum.
  LevelSpacing spacing = LevelSpacing::kUniform;
  bool nearest = false;  // Rounds to the nearest instead of at random.
  bool elias = false;    // Levels are in Elias's codes;
  bool omega = false;    // omega if true, else gamma.

  PS_HOST_DEVICE bool has_levels() const { return bucket_size > 0; }
};

PS_HOST_DEVICE inline int64_t NumBuckets(int64_t count, uint32_t bucket_size) {
  return (count + bucket_size - 1) / bucket_size;
}

struct PartPlan {
  // The part's range in the vector; known to the host.
  int64_t begin = 0;
  int64_t dense_size = 0;
  uint64_t random_key = 0;
  // Its range in the selection; filled in by FindParts.
  int64_t first = 0;  // The part's first element.
  int64_t count = 0;  // Number of elements.
  // Totals over the parts before; filled in by FindParts.
  int64_t chunk_base = 0;
  int64_t bucket_base = 0;  // 0 unless values share scales.
  // Filled in by PlanPayloads. The size of the gaps between indices,
  int64_t varint_bytes = 0;
  int64_t rice_bits = 0;
  // the size of the levels in Elias's codes,
  int64_t dense_bits = 0;
  int64_t sparse_bits = 0;
  // the codes that are chosen, the bytes that they take,
  IndexCode index_code = IndexCode::kDense;
  LevelLayout layout = LevelLayout::kFixed;  // For level codes.
  int64_t value_bytes = 0;
  int64_t index_bytes = 0;
  // and the window, and the place in it, that the payload goes to, in bytes.
  int window = 0;
  int64_t offset = 0;  // A multiple of kPlaceBytes.
  // Filled in by FoldValues; 1 for codes without sums.
  float scales[2] = {1, 1};

  PS_HOST_DEVICE int64_t num_chunks() const {
    return (count + kEncodeChunk - 1) / kEncodeChunk;
  }
};

// Payloads are placed so that no two of them share a word.
constexpr int64_t kPlaceBytes = 256;
// Space that a place has for the payload's header, which the host writes.
constexpr int64_t kFrontBytes = 32;

// The space that a payload takes in a window.
PS_HOST_DEVICE constexpr int64_t PlaceOf(int64_t value_and_index_bytes) {
  return (kFrontBytes + value_and_index_bytes + kPlaceBytes - 1) / kPlaceBytes *
         kPlaceBytes;
}

// Lengths of the codes of a chunk's gaps; after the scan, of the gaps in all
// chunks before it.
struct GapLengths {
  int64_t varint_bytes = 0;
  int64_t rice_bits = 0;
};

// A batch of parts. Pointers refer to device memory.
struct EncodeBatch {
  const uint32_t* indices = nullptr;  // Ascending; null for whole vectors.
  float* values = nullptr;            // Replaced with their coding errors.
  // The last one ends the list: its chunk_base and bucket_base are the totals,
  // and its window is the number of windows.
  PartPlan* parts = nullptr;  // [num_parts + 1]
  int num_parts = 0;
  GapLengths* lengths = nullptr;  // [chunks + 1]; null if they are not needed.
  LevelScratch levels;
  // Space for one window of payloads. All bits are zeros, but between
  // PackPayloads and CopyPayloads.
  uint8_t* payloads = nullptr;

  PS_HOST_DEVICE int64_t num_chunks() const {
    return parts[num_parts].chunk_base;
  }
};

PS_HOST_DEVICE inline uint32_t* ValueWords(const EncodeBatch& batch,
                                           const PartPlan& part) {
  return reinterpret_cast<uint32_t*>(batch.payloads + part.offset +
                                     kFrontBytes);
}

// The last part whose base is at most `place`. The place belongs to this part,
// since a part without elements has the same base as the next one.
template <class Base>
PS_HOST_DEVICE inline int PartOf(const EncodeBatch& batch, int64_t place,
                                 Base base) {
  int low = 0;
  int high = batch.num_parts - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (base(batch.parts[middle]) <= place) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The elements [begin, begin + size) of a part that one block works on.
struct ChunkOfPart {
  int part = 0;
  int64_t begin = 0;
  int size = 0;  // 0 if there is no such chunk.
};

PS_HOST_DEVICE inline ChunkOfPart FindChunk(const EncodeBatch& batch,
                                            int64_t chunk) {
  ChunkOfPart found;
  found.part = PartOf(batch, chunk,
                      [](const PartPlan& part) { return part.chunk_base; });
  const PartPlan& part = batch.parts[found.part];
  found.begin = (chunk - part.chunk_base) * kEncodeChunk;
  const int64_t left = part.count - found.begin;
  if (left > 0) {
    found.size = static_cast<int>(left < kEncodeChunk ? left : kEncodeChunk);
  }
  return found;
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PART_PLAN_H_
