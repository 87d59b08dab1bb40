// The levels of one payload as bits. A level code is a byte of so many bits:
// the highest is 1 for a negative value, the others are the level, 0 to s; a
// negative 0 stands for nothing. The layouts:
//
//     fixed  := the codes, as a stream of bits (compressors/payload/bit_stream.h)
//     sparse := for each bucket: integer(levels above 0, plus 1), and for each
//               of those: integer(places since the one before it, from 1),
//               sign bit, integer(level)
//     dense  := for each value: integer(level + 1), sign bit unless level is 0
//
// where integer is Elias's gamma or omega and the bits of a byte come highest
// first. Sparse is ENCODE of Alistarh et al., NIPS 2017, section 3.1, with the
// number of levels that its decoder would otherwise not know; dense is that of
// their appendix, without the signs of zeros.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "compressors/payload/piece_reader.h"
#include "compressors/value_codes/high_bit_stream.h"
#include "compressors/value_codes/level_layouts.h"
#include "proto/compressor_config.pb.h"

namespace ps {

struct LevelShape {
  int bits = 0;             // Of a level code.
  int64_t bucket_size = 0;  // Values; the last bucket may have fewer.
};

// What WriteLevels writes at most, for any codes.
int64_t MaxLevelBytes(ValueCodeConfig::IntegerCode integer_code, int bits,
                      int64_t count);

// Of the layouts with this integer code, the one that takes fewest bits.
LevelLayout SmallestLayout(ValueCodeConfig::IntegerCode integer_code,
                           const LevelShape& shape,
                           absl::Span<const uint8_t> codes);

// Returns how many bytes it wrote.
int64_t WriteLevels(LevelLayout layout, const LevelShape& shape,
                    absl::Span<const uint8_t> codes, uint8_t* out);

// Reads the layouts with Elias's codes. After a fault, every code is the one
// that stands for nothing.
class EliasLevelReader {
 public:
  EliasLevelReader(LevelLayout layout, int bits, const PieceReader& bytes);

  // Before the first value of each bucket.
  void StartBucket(int64_t size);

  // Asked for no more than the bucket has.
  void Next(absl::Span<uint8_t> codes);

  // Whether there was no fault, and only the zeros are left that fill the last
  // byte.
  bool AtEnd();

 private:
  void NextDense(absl::Span<uint8_t> codes);
  void NextSparse(absl::Span<uint8_t> codes);
  void ReadGap();
  uint32_t ReadInteger();

  const bool omega_;
  const bool sparse_;
  const uint32_t sign_bit_;  // Also the code that stands for nothing.
  HighBitReader reader_;
  bool fault_ = false;
  // Sparse; of the bucket:
  int64_t left_ = 0;         // Values.
  int64_t levels_left_ = 0;  // Of them, those above 0;
  int64_t zeros_left_ = 0;   // and zeros before the next such.
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_
