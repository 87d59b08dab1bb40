// Counts and masks bits, for host and device.
#ifndef COMPRESSORS_PAYLOAD_BITS_H_
#define COMPRESSORS_PAYLOAD_BITS_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

PS_HOST_DEVICE inline int64_t BytesOfBits(int64_t bits) {
  return (bits + 7) / 8;
}

// Returns a word with the lowest `bits` bits set; bits is at most 63.
PS_HOST_DEVICE inline uint64_t LowBits(int bits) {
  return (uint64_t{1} << bits) - 1;
}

// Returns the position of the highest set bit, counted from 1; 0 if x is 0.
PS_HOST_DEVICE inline int BitWidth(uint32_t x) {
#ifdef __CUDA_ARCH__
  return 32 - __clz(static_cast<int>(x));
#else
  return x == 0 ? 0 : 32 - __builtin_clz(x);
#endif
}

// Returns the word with its bytes in reverse order.
PS_HOST_DEVICE inline uint32_t ByteSwapped(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);
#endif
}

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_BITS_H_
