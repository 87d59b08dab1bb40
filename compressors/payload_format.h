// The words of the payload format: numbers, header, and how a payload lies in
// memory. docs/wire_format.md has the grammar.
#ifndef COMPRESSORS_PAYLOAD_FORMAT_H_
#define COMPRESSORS_PAYLOAD_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

constexpr uint8_t kPayloadVersion = 1;
constexpr size_t kPayloadHeaderBytes = 32;
// Vectors are shorter than this.
constexpr int64_t kMaxDenseSize = (int64_t{1} << 32) - 1;

// Wire numbers: never reused, never changed.
enum class IndexCode : uint8_t {
  kDense = 0,        // No indices: values of all positions.
  kRaw32 = 1,        // u32 each.
  kDeltaVarint = 2,  // LEB128 of the positions between an index and the next.
  kBitmap = 3,       // One bit for each position, lowest bit first.
  kRice = 4,         // Rice's code of the same, by the density.
  kEliasFano = 5,    // Low bits of each, then the high parts as a bitmap.
  kAdaComp = 6,      // Part of the values of the same name.
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
  kAdaComp = 13,  // Bins of positions, each a sign at one scale.
  kLowRank = 14,  // Products of narrow matrices.
  kNaturalDithering = 15,
};

// A payload as it lies in memory: pieces in order, cut anywhere (a message
// arrives as the slices that the network made). Borrowed.
using PayloadPieces = std::vector<absl::Span<const uint8_t>>;

// What a header says.
struct PayloadInfo {
  IndexCode index_code = IndexCode::kDense;
  ValueCode value_code = ValueCode::kFp32;
  int64_t count = 0;
  int64_t dense_size = 0;
  int64_t value_bytes = 0;
  int64_t index_bytes = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_FORMAT_H_
