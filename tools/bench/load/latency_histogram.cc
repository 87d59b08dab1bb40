#include "tools/bench/load/latency_histogram.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// Values below 64 have a bucket each. Above that each doubling has 64 buckets:
// bucket 64 (d + 1) + k is [(64 + k) 2^d, (64 + k + 1) 2^d).
constexpr int kBits = 6;
constexpr int64_t kPerDoubling = int64_t{1} << kBits;

int Log2(int64_t value) {
  return 63 - __builtin_clzll(static_cast<uint64_t>(value));
}

int64_t BucketOf(int64_t value) {
  if (value < kPerDoubling) return value;
  const int doubling = Log2(value) - kBits;
  return kPerDoubling * doubling + (value >> doubling);
}

constexpr int64_t kNumBuckets = kPerDoubling * (42 - kBits + 1);

double MiddleOf(int64_t bucket) {
  if (bucket < kPerDoubling) return static_cast<double>(bucket);
  const int64_t doubling = bucket / kPerDoubling - 1;
  const int64_t within = kPerDoubling + bucket % kPerDoubling;
  return std::ldexp(static_cast<double>(within) + 0.5,
                    static_cast<int>(doubling));
}

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kNumBuckets) {}

void LatencyHistogram::Add(int64_t value) {
  value = std::clamp<int64_t>(value, 0, kLargest);
  ++counts_[BucketOf(value)];
  ++count_;
  largest_ = std::max(largest_, value);
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  for (int64_t i = 0; i < kNumBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  largest_ = std::max(largest_, other.largest_);
}

double LatencyHistogram::Quantile(double q) const {
  if (count_ == 0) return 0;
  const int64_t rank = std::clamp<int64_t>(
      static_cast<int64_t>(std::ceil(q * static_cast<double>(count_))), 1,
      count_);
  int64_t below = 0;
  for (int64_t i = 0; i < kNumBuckets; ++i) {
    below += counts_[i];
    if (below >= rank) {
      // The middle of the last bucket may exceed the largest value in it.
      return std::min(MiddleOf(i), static_cast<double>(largest_));
    }
  }
  return static_cast<double>(largest_);
}

std::vector<int64_t> LatencyHistogram::Numbers() const {
  std::vector<int64_t> numbers = {largest_};
  for (int64_t i = 0; i < kNumBuckets; ++i) {
    if (counts_[i] == 0) continue;
    numbers.push_back(i);
    numbers.push_back(counts_[i]);
  }
  return numbers;
}

absl::StatusOr<LatencyHistogram> LatencyHistogram::FromNumbers(
    absl::Span<const int64_t> numbers) {
  LatencyHistogram histogram;
  bool valid =
      numbers.size() % 2 == 1 && numbers[0] >= 0 && numbers[0] <= kLargest;
  for (size_t i = 1; valid && i < numbers.size(); i += 2) {
    const int64_t bucket = numbers[i];
    valid = bucket >= 0 && bucket < kNumBuckets && numbers[i + 1] > 0 &&
            histogram.counts_[bucket] == 0;
    if (!valid) break;
    histogram.counts_[bucket] = numbers[i + 1];
    histogram.count_ += numbers[i + 1];
  }
  if (!valid) {
    return absl::InvalidArgumentError(
        absl::StrCat(numbers.size(), " numbers do not form a histogram"));
  }
  histogram.largest_ = numbers[0];
  return histogram;
}

}  // namespace ps
