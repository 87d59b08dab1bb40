// The reading side of level codes: bytes to values.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "compressors/value_codes/level_stream.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {

// As it stands at the head of the values.
struct LevelHeader {
  uint8_t bits = 0;
  LevelLayout layout = LevelLayout::kFixed;
  uint8_t zero[2] = {0, 0};
  uint32_t bucket_size = 0;
};
static_assert(sizeof(LevelHeader) == 8, "LevelHeader is read as it is");

// What a level code stands for, over its bucket's scale; a NaN for the negative
// zero, which no writer writes.
using LevelTable = std::array<float, 1 << kMaxLevelBits>;

// levels: from 0 to 1, NumLevels(bits) + 1 of them.
LevelTable MakeLevelTable(int bits, absl::Span<const float> levels);

// scales: a float for each bucket. What the codes hold beyond the values shows
// in Finish.
std::unique_ptr<ValueDecoder> NewLevelDecoder(const LevelHeader& header,
                                              const LevelTable& table,
                                              const PieceReader& scales,
                                              const PieceReader& codes,
                                              int64_t count);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_DECODER_H_
