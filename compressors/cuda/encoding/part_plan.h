// One payload on its way: what host and device tell each other of it.
#ifndef COMPRESSORS_CUDA_ENCODING_PART_PLAN_H_
#define COMPRESSORS_CUDA_ENCODING_PART_PLAN_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/payload/code_numbers.h"
#include "compressors/cuda/encoding/level_scratch.h"
#include "compressors/value_codes/level_layouts.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/sparse/cores/elements.h"

namespace ps {

// Elements that a block works on: those of one part, from a multiple of this
// on, counted from the part's first. So parts of a batch do not depend on each
// other.
constexpr int kEncodeChunk = kSparseTile;
static_assert(kEncodeChunk == kSumChunk, "values are added up by chunks");

// How to write values.
struct ValuePacking {
  ValueCode code = ValueCode::kFp32;
  float threshold = 0;       // "two_bit_threshold".
  double clip = 0;           // "ternary".
  bool unit_scale = false;   // "sign": 1 instead of the mean magnitude.
  int bits = 0;              // Of a level code,
  uint32_t bucket_size = 0;  // and values that share a scale,
  bool euclidean = false;    // which is their norm, not the largest magnitude.
  LevelSpacing spacing = LevelSpacing::kUniform;
  bool nearest = false;  // Rounding is not at random.
  bool elias = false;    // Levels are in Elias's codes,
  bool omega = false;    // and omega, not gamma.

  bool has_levels() const { return bucket_size > 0; }
};

PS_HOST_DEVICE inline int64_t NumBuckets(int64_t count, uint32_t bucket_size) {
  return (count + bucket_size - 1) / bucket_size;
}

struct PartPlan {
  // Of the vector; known to the host.
  int64_t begin = 0;
  int64_t dense_size = 0;
  uint64_t random_key = 0;
  // Of the selection; FindParts fills these in, or for whole vectors the host.
  int64_t first = 0;  // The part's first element.
  int64_t count = 0;  // Elements.
  // Of the parts before; PlaceParts fills these in.
  int64_t chunk_base = 0;
  int64_t bucket_base = 0;  // 0 unless values share scales.
  // What the gaps between indices take; ScanGaps fills these in.
  int64_t varint_bytes = 0;
  int64_t rice_bits = 0;
  // What the levels take in Elias's codes; ScanLevels fills these in.
  int64_t dense_bits = 0;
  int64_t sparse_bits = 0;
  // What the host makes of all that. Offsets are bytes.
  IndexCode index_code = IndexCode::kDense;
  LevelLayout layout = LevelLayout::kFixed;  // Of level codes.
  int64_t value_bytes = 0;
  int64_t index_bytes = 0;
  int64_t offset = 0;  // Of the values, a multiple of 256; then come indices.
  // FoldValues fills these in.
  float scales[2] = {0, 0};

  PS_HOST_DEVICE int64_t num_chunks() const {
    return (count + kEncodeChunk - 1) / kEncodeChunk;
  }
};

// After counts are known. bucket_size: 0 unless values share scales.
PS_HOST_DEVICE inline void PlaceParts(uint32_t bucket_size, int num_parts,
                                      PartPlan* parts) {
  int64_t chunks = 0;
  int64_t buckets = 0;
  for (int p = 0; p < num_parts; ++p) {
    parts[p].chunk_base = chunks;
    parts[p].bucket_base = buckets;
    chunks += parts[p].num_chunks();
    if (bucket_size > 0) buckets += NumBuckets(parts[p].count, bucket_size);
  }
}

// Lengths of the codes of a chunk's gaps; after the scan, of those before it.
struct GapLengths {
  int64_t varint_bytes = 0;
  int64_t rice_bits = 0;
};

// A batch. Pointers are to the device's memory.
struct EncodeBatch {
  const uint32_t* indices = nullptr;  // Ascending; null for whole vectors.
  float* values = nullptr;            // Become what coding lost of them.
  PartPlan* parts = nullptr;          // [num_parts]
  int num_parts = 0;
  int64_t first_chunk = 0;        // What a launch begins with, of all parts.
  GapLengths* lengths = nullptr;  // [chunks]
  LevelScratch levels;
  uint8_t* payloads = nullptr;  // Bytes without headers.
};

PS_HOST_DEVICE inline uint32_t* ValueWords(const EncodeBatch& batch,
                                           const PartPlan& part) {
  return reinterpret_cast<uint32_t*>(batch.payloads + part.offset);
}

// The last part that has `base` at `place` or before: the one that the place
// belongs to, for parts without any share theirs with the next.
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

// What one block works on: elements [begin, begin + size) of a part.
struct ChunkOfPart {
  int part = 0;
  int64_t begin = 0;
  int size = 0;  // 0: nothing; there are no such chunks.
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
