// Converts between a float and its bits (IEEE 754), on host and device.
#ifndef COMMON_FLOAT_BITS_H_
#define COMMON_FLOAT_BITS_H_

#include <cstdint>
#include <cstring>

#include "common/host_device.h"

namespace ps {

PS_HOST_DEVICE inline uint32_t FloatBits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
#endif
}

PS_HOST_DEVICE inline float FloatFromBits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
#endif
}

}  // namespace ps

#endif  // COMMON_FLOAT_BITS_H_
