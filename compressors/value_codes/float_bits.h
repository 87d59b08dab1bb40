// Floats as the integers that IEEE 754 makes of them.
#ifndef COMPRESSORS_VALUE_CODES_FLOAT_BITS_H_
#define COMPRESSORS_VALUE_CODES_FLOAT_BITS_H_

#include <cstdint>
#include <cstring>

namespace ps {

inline uint32_t FloatBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

inline float FloatFromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FLOAT_BITS_H_
