#include "worker/tensorboard/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace ps {
namespace {

// A float's bits without the sign ascend with its magnitude. Their upper part,
// the exponent and three bits of the fraction, numbers the bucket.
constexpr int kShift = 20;
constexpr uint32_t kInfinityBits = 0x7f800000;
// One bucket is added, because the threshold cuts one in two.
constexpr size_t kNumBuckets = (kInfinityBits >> kShift) + 1;

uint32_t MagnitudeBits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits & 0x7fffffff;
}

double ValueOf(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Returns the largest magnitude in each bucket.
std::vector<double> Limits(uint32_t threshold) {
  std::vector<double> limits(kNumBuckets);
  for (size_t i = 0; i < kNumBuckets; ++i) {
    const size_t part = i - (i > threshold >> kShift ? 1 : 0);
    limits[i] = i == threshold >> kShift ? ValueOf(threshold)
                                         : ValueOf(((part + 1) << kShift) - 1);
  }
  return limits;
}

// Adds a bucket. Of several without values, only the last counts, since it ends
// where the next begins; but a limit at the threshold stays.
void Add(double limit, double count, double threshold,
         TensorBoardHistogram* histogram) {
  const int last = histogram->bucket_size() - 1;
  if (last >= 0) {
    const double before = histogram->bucket_limit(last);
    const bool both_empty = histogram->bucket(last) == 0 && count == 0;
    if (before == limit || (both_empty && std::abs(before) != threshold)) {
      histogram->set_bucket_limit(last, limit);
      histogram->set_bucket(last, histogram->bucket(last) + count);
      return;
    }
  }
  histogram->add_bucket_limit(limit);
  histogram->add_bucket(count);
}

}  // namespace

TensorBoardHistogram HistogramOf(absl::Span<const float> values,
                                 double threshold) {
  TensorBoardHistogram histogram;
  constexpr float kMax = std::numeric_limits<float>::max();
  // Without a threshold, no bucket is cut.
  const uint32_t at = MagnitudeBits(
      threshold > 0 ? static_cast<float>(std::min<double>(threshold, kMax))
                    : kMax);
  std::vector<int64_t> positive(kNumBuckets, 0);
  std::vector<int64_t> negative(kNumBuckets, 0);
  double sum = 0;
  double sum_squares = 0;
  int64_t num = 0;
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  for (const float value : values) {
    const uint32_t bits = MagnitudeBits(value);
    if (bits >= kInfinityBits) continue;
    const size_t bucket = (bits >> kShift) + (bits > at ? 1 : 0);
    ++(value < 0 ? negative : positive)[bucket];
    ++num;
    sum += value;
    sum_squares += double{value} * value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (num == 0) return histogram;
  histogram.set_min(low);
  histogram.set_max(high);
  histogram.set_num(static_cast<double>(num));
  histogram.set_sum(sum);
  histogram.set_sum_squares(sum_squares);
  const double limit_at = ValueOf(at);
  const std::vector<double> limits = Limits(at);
  for (size_t i = kNumBuckets; i-- > 0;) {
    // A bucket of negative numbers ends where the one of smaller magnitudes
    // begins.
    Add(i == 0 ? 0 : -limits[i - 1], static_cast<double>(negative[i]), limit_at,
        &histogram);
  }
  for (size_t i = 0; i < kNumBuckets; ++i) {
    Add(limits[i], static_cast<double>(positive[i]), limit_at, &histogram);
  }
  return histogram;
}

}  // namespace ps
