// Decodes level codes to values.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "compressors/value_codes/level_stream.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {

// The header at the start of the values, as laid out in memory.
struct LevelHeader {
  uint8_t bits = 0;
  LevelLayout layout = LevelLayout::kFixed;
  uint8_t zero[2] = {0, 0};
  uint32_t bucket_size = 0;
};
static_assert(sizeof(LevelHeader) == 8, "LevelHeader is read as it is");

// The value of each level code, relative to its bucket's scale; NaN for
// negative zero, which is never written.
using LevelTable = std::array<float, 1 << kMaxLevelBits>;

// Builds the table of NumLevels(bits) + 1 levels, from 0 to 1.
LevelTable MakeLevelTable(int bits, absl::Span<const float> levels);

// Creates a decoder. scales: one per bucket. Finish reports surplus data in
// `codes`.
std::unique_ptr<ValueDecoder> NewLevelDecoder(const LevelHeader& header,
                                              const LevelTable& table,
                                              const PieceReader& scales,
                                              const PieceReader& codes,
                                              int64_t count);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_
