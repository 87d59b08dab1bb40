// Products with a matrix that is packed once and multiplied several times: the
// weights of a recurrent layer, at every step. dnnl_sgemm packs in each call,
// which a product with the few rows of one step does not pay back; gemm.h has
// the figures.
#ifndef TENSOR_CPU_PACKED_GEMM_H_
#define TENSOR_CPU_PACKED_GEMM_H_

#include <cstdint>

#include "common/thread_pool.h"

namespace ps {

// A matrix B [k, n].
struct PackedShape {
  int64_t k = 0;
  int64_t n = 0;

  // Memory that the packed matrix takes, in floats.
  int64_t num_floats() const;
};

// b: row-major, or its transpose [n, k]. packed: aligned to 64 bytes.
void Pack(ThreadPool* pool, const PackedShape& shape, const float* b,
          bool transposed, float* packed);

struct PackedProduct {
  int64_t m = 0;
  PackedShape shape;
  const float* a = nullptr;  // [m, k]
  const float* packed = nullptr;
  // C += A B instead of C = A B.
  bool accumulate = false;
  float* c = nullptr;  // [m, n]
};

// The same bits for any number of threads.
void MultiplyPacked(ThreadPool* pool, const PackedProduct& product);

}  // namespace ps

#endif  // TENSOR_CPU_PACKED_GEMM_H_
