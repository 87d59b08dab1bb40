// Products of matrices on the CPU.
//
// Who multiplies was measured (one core of a Zen 3 at 102 GFLOP/s, GFLOP/s of
// oneDNN 2.6.3's dnnl_sgemm and of OpenBLAS 0.3.21, shapes m x n x k of a
// language model with 650 units, 10,000 words and 35 x 20 tokens):
//
//   700 x 2600 x 650   91  91     20 x 2600 x 650   74  63
//   2600 x 650 x 700   92  89     20 x 650 x 2600   82  70
//   700 x 10000 x 650  93  89     20 x 1536 x 512   75  65
//   10000 x 650 x 700  91  91     20 x 2048 x 512   74  64
//   700 x 650 x 10000  92  92     700 x 650 x 2600  91  93
//
// OpenBLAS is nowhere ahead by more than the noise, so all products are
// oneDNN's, and there is one library less that starts threads.
#ifndef TENSOR_CPU_GEMM_H_
#define TENSOR_CPU_GEMM_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// Row-major without gaps: C [m, n] = A [m, k] B [k, n].
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // The operand lies in memory as its transpose: A as [k, m], B as [n, k].
  bool transpose_a = false;
  bool transpose_b = false;
  // C += A B.
  bool accumulate = false;
};

// num_threads: of OpenMP.
absl::Status Gemm(int num_threads, const GemmShape& shape, const float* a,
                  const float* b, float* c);

}  // namespace ps

#endif  // TENSOR_CPU_GEMM_H_
