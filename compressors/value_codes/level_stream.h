// Writes the levels of one payload as bits. A level code is a byte of which
// `bits` bits are used: the highest is 1 for a negative value, the others are
// the level, 0 to s. A negative 0 is invalid. The layouts:
//
//     fixed  := the codes, as a stream of bits
//               (compressors/payload/bit_stream.h)
//     sparse := for each bucket: integer(number of levels above 0, plus 1), and
//               for each of those: integer(distance from the one before it, at
//               least 1), sign bit, integer(level)
//     dense  := for each value: integer(level + 1), sign bit unless level is 0
//
// where integer is Elias's gamma or omega code and each byte is filled from its
// highest bit. Sparse is ENCODE of Alistarh et al., NIPS 2017, section 3.1,
// plus the number of levels, which its decoder would otherwise not know; dense
// is the code of their appendix, without signs for zeros.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "compressors/payload/piece_reader.h"
#include "compressors/value_codes/high_bit_stream.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// The layouts' wire numbers, which are never changed or reused.
enum class LevelLayout : uint8_t {
  kFixed = 0,
  kGammaSparse = 1,
  kGammaDense = 2,
  kOmegaSparse = 3,
  kOmegaDense = 4,
};
constexpr uint8_t kLastLevelLayout = 4;

constexpr int kMinLevelBits = 2;
constexpr int kMaxLevelBits = 8;

// Returns the number of levels other than 0.
constexpr int NumLevels(int bits) { return (1 << (bits - 1)) - 1; }

struct LevelShape {
  int bits = 0;             // The width of a level code.
  int64_t bucket_size = 0;  // Values; the last bucket may have fewer.
};

// Returns the maximum number of bytes that WriteLevels writes, for any codes.
int64_t MaxLevelBytes(ValueCodeConfig::IntegerCode integer_code, int bits,
                      int64_t count);

// Returns which of the layouts with this integer code takes the fewest bits.
LevelLayout SmallestLayout(ValueCodeConfig::IntegerCode integer_code,
                           const LevelShape& shape,
                           absl::Span<const uint8_t> codes);

// Writes level codes. Returns the number of bytes written.
int64_t WriteLevels(LevelLayout layout, const LevelShape& shape,
                    absl::Span<const uint8_t> codes, uint8_t* out);

// Reads the layouts that use Elias's codes. After invalid input, every code
// read is the invalid one, negative 0.
class EliasLevelReader {
 public:
  EliasLevelReader(LevelLayout layout, int bits, const PieceReader& bytes);

  // Call before the first value of each bucket.
  void StartBucket(int64_t size);

  // Reads the next codes; do not read more than the bucket has.
  void Next(absl::Span<uint8_t> codes);

  // Whether all input was valid and nothing is left but the zeros that fill the
  // last byte.
  bool AtEnd();

 private:
  void NextDense(absl::Span<uint8_t> codes);
  void NextSparse(absl::Span<uint8_t> codes);
  void ReadGap();
  uint32_t ReadInteger();

  const bool omega_;
  const bool sparse_;
  const uint32_t sign_bit_;  // Also the invalid code, negative 0.
  HighBitReader reader_;
  bool fault_ = false;
  // For the sparse layout, in the current bucket:
  int64_t left_ = 0;         // Values left.
  int64_t levels_left_ = 0;  // Levels above 0 left.
  int64_t zeros_left_ = 0;   // Zeros before the next of those.
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_STREAM_H_
