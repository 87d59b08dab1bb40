// Computes matrix products on the CPU.
//
// The choice of library was measured on one core of a Zen 3 that can do 102
// GFLOP/s: oneDNN 2.6.3's dnnl_sgemm, OpenBLAS 0.3.21, and packed_gemm.h
// without the time of packing (GFLOP/s, shapes m x n x k of language models
// with 20 rows and 35 steps; the best of many runs, on a machine that was also
// doing other work):
//
//                      oneDNN  OpenBLAS  packed
//   700 x 2600 x 650     91       91       92
//   2600 x 650 x 700     92       89
//   700 x 10000 x 650    93       89       93
//   10000 x 650 x 700    91       91
//   700 x 650 x 10000    92       92       89
//   700 x 650 x 2600     91       93       90
//   20 x 2600 x 650      74       63       93
//   20 x 650 x 2600      82       70       95
//   20 x 2048 x 512      74       64       97
//   20 x 512 x 2048      54                98
//
// So the products of a step with the recurrent weights, which are the same at
// every step, use packed_gemm.h: packing takes as long as two steps. All other
// products use oneDNN. OpenBLAS is never ahead by more than the noise, so it is
// not linked: that is one library less that starts threads.
#ifndef TENSOR_CPU_GEMM_H_
#define TENSOR_CPU_GEMM_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// Row-major matrices without gaps: C [m, n] = A [m, k] B [k, n].
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // Whether the operand is stored as its transpose: A as [k, m], B as [n, k].
  bool transpose_a = false;
  bool transpose_b = false;
  // Whether to compute C += A B instead of C = A B.
  bool accumulate = false;
};

// Multiplies. num_threads: OpenMP threads.
absl::Status Gemm(int num_threads, const GemmShape& shape, const float* a,
                  const float* b, float* c);

}  // namespace ps

#endif  // TENSOR_CPU_GEMM_H_
