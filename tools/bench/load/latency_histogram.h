// Latencies of any number of calls in a few kilobytes: counted in buckets that
// grow with the latency, 64 to each doubling (as in HdrHistogram).
#ifndef TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_
#define TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// Of values from 0 to kLargest, in any unit; here nanoseconds. Not thread-safe.
class LatencyHistogram {
 public:
  // 73 minutes of nanoseconds. What is longer counts as this.
  static constexpr int64_t kLargest = (int64_t{1} << 42) - 1;
  // Quantiles are off by at most this part of the value; values below 64 are
  // exact, and so is largest(). A bucket is at most 1/64 of its values wide,
  // and its middle stands for them.
  static constexpr double kRelativeError = 1.0 / 128;

  LatencyHistogram();

  // Below 0 counts as 0.
  void Add(int64_t value);
  void Add(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  int64_t largest() const { return largest_; }  // 0 if there is none.

  // The smallest value that at least the part `q` of all values, q in [0, 1],
  // does not exceed: the ceil(q count)-th one, at least the first, in ascending
  // order. 0 if there is none.
  double Quantile(double q) const;

  // The same histogram as numbers: the largest value, then the number and count
  // of each bucket that is not empty.
  std::vector<int64_t> Numbers() const;
  // Errors: kInvalidArgument for what Numbers() does not return.
  static absl::StatusOr<LatencyHistogram> FromNumbers(
      absl::Span<const int64_t> numbers);

 private:
  std::vector<int64_t> counts_;  // By bucket.
  int64_t count_ = 0;
  int64_t largest_ = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_LATENCY_HISTOGRAM_H_
