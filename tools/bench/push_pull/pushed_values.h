// Vectors of small whole numbers, so that floats add them up exactly, in any
// order, and the final value of every element is known beforehand.
//
// Element i of the workers' mean is 1 + i % 13. Worker r pushes that plus
// 2r - (N - 1), which adds up to 0 over the N workers. A push that is missing,
// counted twice or added in the wrong place therefore changes the result.
#ifndef TOOLS_BENCH_PUSH_PULL_PUSHED_VALUES_H_
#define TOOLS_BENCH_PUSH_PULL_PUSHED_VALUES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ps {

// Within these limits every sum is exact: it stays below 2^24 in magnitude.
constexpr int64_t kMaxBenchWorkers = 64;
constexpr int64_t kMaxBenchPushes = 10100;

// The elements of this worker's push from `begin` on.
void FillPushedValues(int rank, int num_workers, int64_t begin,
                      absl::Span<float> values);

// Element i is i % 11.
void FillFirstWeights(absl::Span<float> weights);

// Element i is `first` x its first weight + `mean` x the workers' mean, the
// latter only where i is a multiple of `one_of`.
struct ExpectedValues {
  double first = 0;
  double mean = 0;
  int64_t one_of = 1;
};

// Errors: kDataLoss with the first element that differs by more than rounding
// can explain (2^-20 of its magnitude, or of 1 if that is larger).
absl::Status CheckValues(absl::Span<const float> values,
                         const ExpectedValues& expected);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_PUSHED_VALUES_H_
