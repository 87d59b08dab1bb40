// A short string of bits held in a number, for host and device.
#ifndef COMPRESSORS_VALUE_CODES_BIT_STRING_H_
#define COMPRESSORS_VALUE_CODES_BIT_STRING_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

// The lowest `length` bits of `bits`, highest first; no other bits are set.
// length is at most 64.
struct BitString {
  uint64_t bits = 0;
  int length = 0;
};

// Returns a followed by b: at most 64 bits together. b must have fewer than 64.
PS_HOST_DEVICE inline BitString Concatenate(BitString a, BitString b) {
  return {a.bits << b.length | b.bits, a.length + b.length};
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_BIT_STRING_H_
