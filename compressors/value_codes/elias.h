// Reads Elias's integer codes, which elias_words.h writes.
#ifndef COMPRESSORS_VALUE_CODES_ELIAS_H_
#define COMPRESSORS_VALUE_CODES_ELIAS_H_

#include <cstdint>

#include "compressors/value_codes/elias_words.h"
#include "compressors/value_codes/high_bit_stream.h"

namespace ps {

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
