// Factorises a matrix into two narrow ones.
#ifndef COMPRESSORS_POWERSGD_LOW_RANK_FACTORS_H_
#define COMPRESSORS_POWERSGD_LOW_RANK_FACTORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// The product P Q^T, [rows, cols].
struct LowRankFactors {
  int64_t rows = 0;
  int64_t cols = 0;
  int rank = 0;
  std::vector<float> p;  // [rows, rank]
  std::vector<float> q;  // Q^T: [rank, cols]
};

// Sets values[j] to the sum over k of p[k] q[k][begin + j], for a row p of P
// and the columns from `begin` on. q: [rank, cols]. The terms are added in
// order of k in double and rounded to float once: a product of two floats is
// exact in double, so every machine gets the same bits, with or without fused
// operations.
void MultiplyRow(const float* p, const float* q, int64_t cols, int rank,
                 int64_t begin, absl::Span<float> values);

// One step of power iteration for the matrix m, [rows, cols]. Starts from the
// columns of factors->q and replaces both factors:
//     P = orthonormalise(M Q), Q = M^T P
// (Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS 2019, algorithm 1, for one
// worker). P Q^T is then the projection of M onto the span of P's columns. A
// column of M Q that depends linearly on those before it becomes 0 in P and Q.
void PowerIteration(const float* m, LowRankFactors* factors);

}  // namespace ps

#endif  // COMPRESSORS_POWERSGD_LOW_RANK_FACTORS_H_
