// Rows of CTC's forward and backward variables, as logarithms in double:
// probabilities of some hundred frames leave every exponent behind, and
// rescaling each frame loses paths that are unlikely at first.
#ifndef TENSOR_CPU_CPU_CTC_LOOPS_H_
#define TENSOR_CPU_CPU_CTC_LOOPS_H_

#include <cstdint>

namespace ps {

// Stands for ln 0. Finite, so that sums and differences are, and far below
// what float logits can sum up to.
constexpr double kCtcLogZero = -1e300;

// The loops work on whole multiples of so many doubles, which every array must
// have.
constexpr int64_t kCtcLanes = 8;
inline int64_t CtcPadded(int64_t n) {
  return (n + kCtcLanes - 1) / kCtcLanes * kCtcLanes;
}

// Three ways into state i: from itself, from its neighbour, or past that one
// where skip_weight is 0 and not kCtcLogZero.
struct CtcRow {
  const double* stay;
  const double* step;
  const double* skip;
  const double* skip_weight;
  const double* emission;
};

// out[i] = ln(e^stay[i] + e^step[i] + e^(skip[i] + skip_weight[i])) +
// emission[i] for i in [0, n). out is none of the inputs.
void CtcAdvance(const CtcRow& row, int64_t n, double* out);

// What of the whole probability goes through each state of one frame:
// out[i] = e^(forward[i] + backward[i] - emission[i] - log_total); both count
// the frame's emission.
struct CtcMeeting {
  const double* forward;
  const double* backward;
  const double* emission;
  double log_total;
};
void CtcShares(const CtcMeeting& meeting, int64_t n, double* out);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CTC_LOOPS_H_
