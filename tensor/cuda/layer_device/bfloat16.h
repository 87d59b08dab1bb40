// bfloat16: the upper half of a float, with 8 bits of exponent and 7 of
// mantissa. It is only for storage: kernels load it as a float, compute with
// floats, and round to store.
#ifndef TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_
#define TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

#include "common/host_device.h"

namespace ps {

// Converts to a float exactly, and from a float by rounding to nearest, ties to
// even; every NaN becomes 0x7fff. The host's results have the same bits as the
// device's, which come from __float2bfloat16_rn.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  // Implicit both ways, like the language's conversions between float and
  // double, so that one kernel serves arrays of either type.
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
    // A remainder of at least half of the last kept bit carries into it; an
    // exact half does so only if that bit is 1. Values beyond the largest
    // become infinite.
    wide += 0x7fff + ((wide >> 16) & 1);
    return static_cast<uint16_t>(wide >> 16);
#endif
  }
};
static_assert(sizeof(Bfloat16) == 2 && std::is_trivial_v<Bfloat16>);

// The element type of an array, for where it is known only at run time.
enum class Storage { kFloat, kBfloat16 };

inline int64_t StorageBytes(Storage storage) {
  return storage == Storage::kBfloat16 ? 2 : 4;
}

// Calls function(element), where element has the stored type.
template <typename Function>
auto WithElementOf(Storage storage, const Function& function) {
  return storage == Storage::kBfloat16 ? function(Bfloat16()) : function(0.0f);
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_BFLOAT16_H_
