// Multiplies by a matrix that is packed once and used several times, such as
// the weights of a recurrent layer, which are used at every step. dnnl_sgemm
// packs in each call, which does not pay off for the few rows of one step;
// gemm.h has the measurements.
#ifndef TENSOR_CPU_PACKED_GEMM_H_
#define TENSOR_CPU_PACKED_GEMM_H_

#include <cstdint>

#include "common/thread_pool.h"

namespace ps {

// The shape of a matrix B [k, n].
struct PackedShape {
  int64_t k = 0;
  int64_t n = 0;

  // The memory that the packed matrix takes, in floats.
  int64_t num_floats() const;
};

// Packs a matrix. b: B in row-major order, or its transpose [n, k]. packed:
// aligned to 64 bytes.
void Pack(ThreadPool* pool, const PackedShape& shape, const float* b,
          bool transposed, float* packed);

struct PackedProduct {
  int64_t m = 0;
  PackedShape shape;
  const float* a = nullptr;  // [m, k]
  const float* packed = nullptr;
  // Whether to compute C += A B instead of C = A B.
  bool accumulate = false;
  float* c = nullptr;  // [m, n]
};

// Multiplies. The result has the same bits for any number of threads.
void MultiplyPacked(ThreadPool* pool, const PackedProduct& product);

}  // namespace ps

#endif  // TENSOR_CPU_PACKED_GEMM_H_
