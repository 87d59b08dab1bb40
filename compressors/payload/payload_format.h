// Defines the constants, the header and the memory layout of payloads.
// docs/wire_format.md has the grammar.
#ifndef COMPRESSORS_PAYLOAD_PAYLOAD_FORMAT_H_
#define COMPRESSORS_PAYLOAD_PAYLOAD_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compressors/payload/code_numbers.h"

namespace ps {

constexpr uint8_t kPayloadVersion = 1;
constexpr size_t kPayloadHeaderBytes = 32;
// The maximum length of a vector.
constexpr int64_t kMaxDenseSize = (int64_t{1} << 32) - 1;

// A payload in memory: pieces in order, cut anywhere, since a message arrives
// in the slices that the network delivers. Not owned.
using PayloadPieces = std::vector<absl::Span<const uint8_t>>;

// `size` consecutive positions, cut into chunks of chunk_size from their
// beginning, the last of which may be shorter, with one index in each chunk.
struct ChunkRun {
  int64_t chunk_size = 1;  // At least 1.
  int64_t size = 0;

  int64_t num_chunks() const { return (size + chunk_size - 1) / chunk_size; }
};

// The contents of a payload's header.
struct PayloadInfo {
  IndexCode index_code = IndexCode::kDense;
  ValueCode value_code = ValueCode::kFp32;
  int64_t count = 0;
  int64_t dense_size = 0;
  int64_t value_bytes = 0;
  int64_t index_bytes = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_PAYLOAD_FORMAT_H_
