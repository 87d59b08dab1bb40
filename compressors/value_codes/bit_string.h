// A few bits as a number, on host and device.
#ifndef COMPRESSORS_VALUE_CODES_BIT_STRING_H_
#define COMPRESSORS_VALUE_CODES_BIT_STRING_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

// The lowest `length` bits of `bits`, the highest of them first; no others are
// set. Length is at most 64.
struct BitString {
  uint64_t bits = 0;
  int length = 0;
};

// Together at most 64 bits, of which b has fewer.
PS_HOST_DEVICE inline BitString Concatenate(BitString a, BitString b) {
  return {a.bits << b.length | b.bits, a.length + b.length};
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_BIT_STRING_H_
