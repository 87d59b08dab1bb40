// Writes Elias's codes of the integers from 1 to 2^32 - 1, for host and device.
// Elias, "Universal codeword sets and representations of the integers", IEEE
// Trans. Inf. Theory 1975.
//
//     gamma(k) := floor(log2 k) zeros, then k in binary
//     omega(k) := groups, then a 0; each group is a number in binary, the last
//                 one is k. A group's value + 1 is the number of bits of the
//                 next; the first group has 2 bits. omega(1) has no groups.
#ifndef COMPRESSORS_VALUE_CODES_ELIAS_WORDS_H_
#define COMPRESSORS_VALUE_CODES_ELIAS_WORDS_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/payload/bits.h"
#include "compressors/value_codes/bit_string.h"

namespace ps {

// Returns the gamma code of k, at least 1.
PS_HOST_DEVICE inline BitString EliasGamma(uint32_t k) {
  return {k, 2 * BitWidth(k) - 1};
}

PS_HOST_DEVICE inline BitString EliasOmega(uint32_t k) {
  BitString code = {0, 1};  // The 0 at the end; groups come before it.
  while (k > 1) {
    const int width = BitWidth(k);
    code.bits |= uint64_t{k} << code.length;
    code.length += width;
    k = static_cast<uint32_t>(width - 1);
  }
  return code;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_ELIAS_WORDS_H_
