// Matrix products on the device.
#ifndef TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_
#define TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_

#include <cstdint>

#include "tensor/cuda/layer_device/bfloat16.h"

namespace ps {

// Row-major: c [m, n] = a [m, k] b [k, n], accumulated in floats.
struct MatrixProduct {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // The operand is stored as its transpose: a as [k, m], b as [n, k].
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // c += a b instead of c = a b.
  // Distance from one row in memory to the next, in elements; 0: without gaps.
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
  // The types of a and b, and of c, which may be bfloat16 only if a and b are.
  Storage factors = Storage::kFloat;
  Storage result = Storage::kFloat;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;

  int64_t a_row() const {
    return a_stride > 0 ? a_stride : transpose_a ? m : k;
  }
  int64_t b_row() const {
    return b_stride > 0 ? b_stride : transpose_b ? k : n;
  }
  int64_t c_row() const { return c_stride > 0 ? c_stride : n; }
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_
