// Computes rows of CTC's forward and backward variables, as logarithms in
// double precision: after a few hundred frames the probabilities underflow any
// exponent range, and rescaling each frame would lose paths that are unlikely
// at first.
#ifndef TENSOR_CPU_CPU_CTC_LOOPS_H_
#define TENSOR_CPU_CPU_CTC_LOOPS_H_

#include <cstdint>

namespace ps {

// A value for ln 0. It is finite, so that sums and differences with it are
// finite, and far below any sum of float logits.
constexpr double kCtcLogZero = -1e300;

// The loops process multiples of this many doubles, so every array must be
// padded to such a multiple.
constexpr int64_t kCtcLanes = 8;
inline int64_t CtcPadded(int64_t n) {
  return (n + kCtcLanes - 1) / kCtcLanes * kCtcLanes;
}

// The three ways into state i: from itself, from its neighbour, or past that
// neighbour, which is allowed where skip_weight is 0 rather than kCtcLogZero.
struct CtcRow {
  const double* stay;
  const double* step;
  const double* skip;
  const double* skip_weight;
  const double* emission;
};

// Computes out[i] = ln(e^stay[i] + e^step[i] + e^(skip[i] + skip_weight[i])) +
// emission[i] for i in [0, n). `out` must not be one of the inputs.
void CtcAdvance(const CtcRow& row, int64_t n, double* out);

// The share of the total probability that passes through each state of one
// frame: out[i] = e^(forward[i] + backward[i] - emission[i] - log_total). Both
// `forward` and `backward` include the frame's emission.
struct CtcMeeting {
  const double* forward;
  const double* backward;
  const double* emission;
  double log_total;
};
void CtcShares(const CtcMeeting& meeting, int64_t n, double* out);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CTC_LOOPS_H_
