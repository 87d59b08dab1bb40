// Numbers of bits, on host and device.
#ifndef COMPRESSORS_BITS_H_
#define COMPRESSORS_BITS_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

PS_HOST_DEVICE inline int64_t BytesOfBits(int64_t bits) {
  return (bits + 7) / 8;
}

// The lowest `bits` bits set; bits is at most 63.
PS_HOST_DEVICE inline uint64_t LowBits(int bits) {
  return (uint64_t{1} << bits) - 1;
}

}  // namespace ps

#endif  // COMPRESSORS_BITS_H_
