// bfloat16: the upper half of a float, 8 bits of exponent and 7 of mantissa. It
// is for storage: kernels load it as a float, compute with that, and store.
#ifndef TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_
#define TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// Becomes a float exactly, and is made of one by rounding to the nearest, of
// two equally near ones to that whose last bit is 0; of a NaN whatever it is,
// 0x7fff. The host's bits are the device's, which are __float2bfloat16_rn's.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  // Implicit both ways, as the language's conversions between float and double:
  // so one core serves arrays of either.
  PS_HOST_DEVICE Bfloat16(float value) : bits(Rounded(value)) {}

  PS_HOST_DEVICE operator float() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value = 0;
    memcpy(&value, &wide, sizeof(value));
    return value;
  }

 private:
  static PS_HOST_DEVICE uint16_t Rounded(float value) {
#ifdef __CUDA_ARCH__
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    uint32_t wide = 0;
    memcpy(&wide, &value, sizeof(wide));
    if (value != value) return 0x7fff;
    // What is at least half of the last bit that stays carries into it; an
    // exact half only if that bit is 1. Beyond the largest it becomes infinite.
    wide += 0x7fff + ((wide >> 16) & 1);
    return static_cast<uint16_t>(wide >> 16);
#endif
  }
};
static_assert(sizeof(Bfloat16) == 2 && std::is_trivial_v<Bfloat16>);

// The type of an array's elements, where that is known only at run time.
enum class Storage { kFloat, kBfloat16 };

inline int64_t StorageBytes(Storage storage) {
  return storage == Storage::kBfloat16 ? 2 : 4;
}

// Calls function(element), where element is of the type that is stored.
template <typename Function>
auto WithElementOf(Storage storage, const Function& function) {
  return storage == Storage::kBfloat16 ? function(Bfloat16()) : function(0.0f);
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_
