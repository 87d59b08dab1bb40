// Implements codes of few levels: each value is a digit, and a byte holds
// several.
#ifndef COMPRESSORS_VALUE_CODES_DIGITS_H_
#define COMPRESSORS_VALUE_CODES_DIGITS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {

// Packs digits: a byte is the sum of digit x weight, where the first digit has
// weights[0]. Digits that only fill the last byte are 0.
struct DigitPacking {
  int base;
  int per_byte;
  std::array<int, 8> weights;

  int64_t bytes(int64_t count) const {
    return (count + per_byte - 1) / per_byte;
  }
};

// The packings of single bits, lowest first; of pairs of bits, highest pair
// first, as in MXNet; and of five ternary digits per byte, 1.6 bits each.
constexpr DigitPacking kBits = {2, 8, {1, 2, 4, 8, 16, 32, 64, 128}};
constexpr DigitPacking kBitPairs = {4, 4, {64, 16, 4, 1}};
constexpr DigitPacking kTrits = {3, 5, {1, 3, 9, 27, 81}};

// Writes packing.bytes(count) bytes; digit(i) is called once for each i from 0
// to count - 1, in order.
template <typename Digit>
void PackDigits(const DigitPacking& packing, int64_t count, Digit digit,
                uint8_t* out) {
  for (int64_t i = 0; i < count; i += packing.per_byte) {
    const int n =
        static_cast<int>(std::min<int64_t>(packing.per_byte, count - i));
    int byte = 0;
    for (int j = 0; j < n; ++j) byte += packing.weights[j] * digit(i + j);
    *out++ = static_cast<uint8_t>(byte);
  }
}

// The value of each digit; NaN for an invalid digit.
using DigitValues = std::array<float, 4>;

// Creates a decoder. `bytes` must hold packing.bytes(count) bytes. `packing`
// must live until the process ends.
std::unique_ptr<ValueDecoder> NewDigitDecoder(const DigitPacking& packing,
                                              const DigitValues& values,
                                              int64_t count,
                                              const PieceReader& bytes);

// Reads a non-negative scale and advances `bytes` past it. Errors:
// kInvalidArgument.
absl::StatusOr<float> ReadScale(PieceReader* bytes);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_DIGITS_H_
