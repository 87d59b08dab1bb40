// Writes and reads Elias's codes of the integers from 1 to 2^32 - 1. Elias,
// "Universal codeword sets and representations of the integers", IEEE Trans.
// Inf. Theory 1975.
//
//     gamma(k) := floor(log2 k) zeros, then k in binary
//     omega(k) := groups, then a 0; each group is a number in binary, the last
//                 one is k. A group's value + 1 is the number of bits of the
//                 next; the first group has 2 bits. omega(1) has no groups.
#ifndef COMPRESSORS_VALUE_CODES_ELIAS_H_
#define COMPRESSORS_VALUE_CODES_ELIAS_H_

#include <cstdint>

#include "absl/numeric/bits.h"
#include "compressors/value_codes/high_bit_stream.h"

namespace ps {

// Returns the gamma code of k, at least 1.
inline BitString EliasGamma(uint32_t k) {
  return {k, 2 * static_cast<int>(absl::bit_width(k)) - 1};
}

inline BitString EliasOmega(uint32_t k) {
  BitString code = {0, 1};  // The 0 at the end; groups come before it.
  while (k > 1) {
    const int width = static_cast<int>(absl::bit_width(k));
    code.bits |= uint64_t{k} << code.length;
    code.length += width;
    k = static_cast<uint32_t>(width - 1);
  }
  return code;
}

// Returns the next number of the stream, or 0 if it is invalid or missing.
inline uint32_t ReadEliasGamma(HighBitReader* reader) {
  const int zeros = reader->CountZeros();
  if (zeros > 31) return 0;
  reader->Read(zeros);
  const uint32_t k = reader->Read(zeros + 1);
  return reader->past_end() ? 0 : k;
}

inline uint32_t ReadEliasOmega(HighBitReader* reader) {
  uint32_t k = 1;
  while (reader->Read(1) != 0) {
    if (k > 31) return 0;
    const int width = static_cast<int>(k);
    k = uint32_t{1} << width | reader->Read(width);
  }
  return reader->past_end() ? 0 : k;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_ELIAS_H_
