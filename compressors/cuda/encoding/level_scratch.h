// Device memory for level codes and what they are computed from.
#ifndef COMPRESSORS_CUDA_ENCODING_LEVEL_SCRATCH_H_
#define COMPRESSORS_CUDA_ENCODING_LEVEL_SCRATCH_H_

#include <cstdint>

#include "compressors/value_codes/level_descent.h"
#include "compressors/value_codes/level_layouts.h"

namespace ps {

// Space for the levels of one part: 0 to NumLevels(kMaxLevelBits).
constexpr int64_t kLevelTable = NumLevels(kMaxLevelBits) + 1;

// Lengths of a chunk's levels in Elias's codes. Positions count within the
// part; -1: none.
struct LevelLengths {
  // Bits in each of the two layouts; after the scan, those of all chunks
  // before.
  int64_t dense_bits = 0;
  int64_t sparse_bits = 0;
  int64_t last = -1;    // The last position with a level above 0.
  int64_t before = -1;  // The same before the chunk, if in its bucket.
};

struct LevelScratch {
  float* scales = nullptr;  // [buckets]
  // Used if levels are fitted. Samples are padded to a power of two of
  // elements.
  float* levels = nullptr;      // [parts, kLevelTable], from 0 to 1.
  uint64_t* samples = nullptr;  // [parts, max_sample], WeightedMagnitudes.
  SampleSums* sums = nullptr;   // [parts, max_sample + 1]
  int64_t max_sample = 0;
  // Used for Elias's codes.
  uint8_t* codes = nullptr;           // [chunks, kEncodeChunk]
  uint32_t* bucket_levels = nullptr;  // [buckets], levels above 0.
  LevelLengths* lengths = nullptr;    // [chunks + 1]
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_LEVEL_SCRATCH_H_
