// A product of matrices on the device.
#ifndef TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_
#define TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_

#include <cstdint>

namespace ps {

// Row-major without gaps: c [m, n] = a [m, k] b [k, n].
struct MatrixProduct {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // The operand lies in memory as its transpose: a as [k, m], b as [n, k].
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // c += a b.
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_MATRIX_PRODUCT_H_
