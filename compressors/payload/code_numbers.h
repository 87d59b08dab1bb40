// The numbers of index and value codes, for host and device.
#ifndef COMPRESSORS_PAYLOAD_CODE_NUMBERS_H_
#define COMPRESSORS_PAYLOAD_CODE_NUMBERS_H_

#include <cstdint>

namespace ps {

// The index codes' wire numbers, which are never changed or reused.
enum class IndexCode : uint8_t {
  kDense = 0,        // No indices: values of all positions.
  kRaw32 = 1,        // One u32 per index.
  kDeltaVarint = 2,  // LEB128 of the gap between one index and the next.
  kBitmap = 3,       // One bit for each position, lowest bit first.
  kRice = 4,         // Rice's code of the same gaps, tuned to the density.
  kEliasFano = 5,    // Low bits of each, then the high parts as a bitmap.
  kAdaComp = 6,      // The positions are part of the values of that name.
  kChunks = 7,       // The place of the one index in each chunk of positions.
  // Another payload has the indices (shared_positions.h).
  kSharedPositions = 8,
};

enum class ValueCode : uint8_t {
  kFp32 = 0,  // IEEE binary32.
  kFp16 = 1,  // IEEE binary16.
  kBf16 = 2,  // The upper half of binary32.
  kSign = 3,
  kOneBit = 4,
  kTernary = 5,
  kTwoBitThreshold = 6,
  kNatural = 7,
  kInt8Block = 8,
  kQsgd = 9,
  kQsgdInf = 10,
  kNuqsgd = 11,
  kAlq = 12,
  kAdaComp = 13,  // Bins of positions; each element is a sign at one scale.
  kLowRank = 14,  // Products of narrow matrices.
  kNaturalDithering = 15,
  kNoValues = 16,  // Positions alone (shared_positions.h).
  // Only the compressor's server-side codec can read it (slice_coder.h).
  kByCompressor = 17,
  kTwoBitBins = 18,
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_CODE_NUMBERS_H_
