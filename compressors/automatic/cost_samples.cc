#include "compressors/automatic/cost_samples.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "glog/logging.h"

namespace ps {
namespace {

// Returns the mean of the middle half, or the median of three.
template <typename T>
T MiddleMean(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  const size_t cut = values.size() == 3 ? 1 : values.size() / 4;
  T sum = 0;
  for (size_t i = cut; i < values.size() - cut; ++i) sum += values[i];
  return sum / static_cast<T>(values.size() - 2 * cut);
}

double Link(const ExchangeCosts& costs) {
  double link = 0;
  for (const BucketCosts& bucket : costs.buckets) link += bucket.link;
  return link;
}

}  // namespace

void CostSamples::Add(const ExchangeCosts& costs) {
  samples_.push_back(costs);
  if (samples_.size() > kMost) samples_.pop_front();
}

void CostSamples::KeepLast(size_t count) {
  while (samples_.size() > count) samples_.pop_front();
}

double CostSamples::SecondsOfLast(size_t count) const {
  CHECK(count >= 1 && count <= samples_.size());
  std::vector<double> seconds;
  for (auto it = samples_.end() - count; it != samples_.end(); ++it) {
    seconds.push_back(it->seconds);
  }
  return MiddleMean(std::move(seconds));
}

double CostSamples::SmallestSeconds() const {
  CHECK(!samples_.empty());
  double smallest = samples_.front().seconds;
  for (const ExchangeCosts& sample : samples_) {
    smallest = std::min(smallest, sample.seconds);
  }
  return smallest;
}

double CostSamples::LinkOfLast(size_t count) const {
  CHECK(count >= 1 && count <= samples_.size());
  std::vector<double> seconds;
  for (auto it = samples_.end() - count; it != samples_.end(); ++it) {
    seconds.push_back(Link(*it));
  }
  return MiddleMean(std::move(seconds));
}

ExchangeCosts CostSamples::Typical() const {
  CHECK(!samples_.empty());
  ExchangeCosts typical;
  typical.seconds = Seconds();
  typical.buckets.resize(samples_.front().buckets.size());
  for (size_t b = 0; b < typical.buckets.size(); ++b) {
    const auto of = [&](auto field) {
      std::vector<std::decay_t<decltype(typical.buckets[b].*field)>> values;
      for (const ExchangeCosts& sample : samples_) {
        values.push_back(sample.buckets[b].*field);
      }
      return MiddleMean(std::move(values));
    };
    BucketCosts& bucket = typical.buckets[b];
    bucket.codec = of(&BucketCosts::codec);
    bucket.server = of(&BucketCosts::server);
    bucket.link = of(&BucketCosts::link);
    bucket.bytes_up = of(&BucketCosts::bytes_up);
    bucket.bytes_down = of(&BucketCosts::bytes_down);
  }
  return typical;
}

}  // namespace ps
