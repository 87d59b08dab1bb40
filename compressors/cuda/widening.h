// Widens 16-bit floats into a vector. For host and device.
#ifndef COMPRESSORS_CUDA_WIDENING_H_
#define COMPRESSORS_CUDA_WIDENING_H_

#include <cstdint>

#include "common/host_device.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// Sets u[i] = codes[i], or u[i] += codes[i], rounded. Pointers refer to device
// memory.
template <class Format>
struct WidenCodes {
  const uint16_t* codes = nullptr;
  bool add = false;
  float* u = nullptr;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const float x = Format::Widen(codes[i]);
    u[i] = add ? AddRounded(u[i], x) : x;
  }
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_WIDENING_H_
