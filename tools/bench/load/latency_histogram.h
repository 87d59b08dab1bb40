// Counts the latencies of any number of calls in a few kilobytes, in buckets
// that grow with the latency, 64 to each doubling (as in HdrHistogram).
#ifndef TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_
#define TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// A histogram of values from 0 to kLargest, in any unit; here nanoseconds. Not
// thread-safe.
class LatencyHistogram {
 public:
  // 73 minutes in nanoseconds. Larger values count as this one.
  static constexpr int64_t kLargest = (int64_t{1} << 42) - 1;
  // The relative error of quantiles is at most this; values below 64 and
  // largest() are exact. A bucket is at most 1/64 of its values wide, and its
  // middle represents them.
  static constexpr double kRelativeError = 1.0 / 128;

  LatencyHistogram();

  // A value below 0 counts as 0.
  void Add(int64_t value);
  void Add(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  int64_t largest() const { return largest_; }  // 0 if it is empty.

  // The q-quantile, q in [0, 1]: the ceil(q count)-th value in ascending order,
  // or the first if that is 0. Returns 0 if the histogram is empty.
  double Quantile(double q) const;

  // The histogram as numbers: the largest value, then the number and count of
  // each bucket that is not empty.
  std::vector<int64_t> Numbers() const;
  // Errors: kInvalidArgument for numbers that Numbers() cannot return.
  static absl::StatusOr<LatencyHistogram> FromNumbers(
      absl::Span<const int64_t> numbers);

 private:
  std::vector<int64_t> counts_;  // By bucket.
  int64_t count_ = 0;
  int64_t largest_ = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_
