// The costs of the last few iterations with one choice.
#ifndef COMPRESSORS_AUTOMATIC_COST_SAMPLES_H_
#define COMPRESSORS_AUTOMATIC_COST_SAMPLES_H_

#include <cstddef>
#include <deque>

#include "compressors/automatic/exchange_costs.h"

namespace ps {

// Keeps the last kMost samples. Not thread-safe.
class CostSamples {
 public:
  static constexpr size_t kMost = 16;

  // Adds a sample. All samples have the same number of buckets.
  void Add(const ExchangeCosts& costs);
  void KeepLast(size_t count);  // Keeps at most `count`.
  size_t size() const { return samples_.size(); }

  // Returns the typical time of an iteration: the mean of the middle half of
  // the samples, or the median of three. This leaves out iterations that were
  // slow for other reasons. Requires at least one sample.
  double Seconds() const { return SecondsOfLast(samples_.size()); }
  double SecondsOfLast(size_t count) const;  // 1 to size().
  double SmallestSeconds() const;
  double LinkOfLast(size_t count) const;  // The sum over the buckets.
  // Returns the typical value of each cost separately.
  ExchangeCosts Typical() const;

 private:
  std::deque<ExchangeCosts> samples_;
};

}  // namespace ps

#endif  // COMPRESSORS_AUTOMATIC_COST_SAMPLES_H_
