#include "tools/bench/network/bandwidth_stages.h"

#include <limits>
#include <utility>

namespace ps {

BandwidthStages::BandwidthStages(std::vector<int64_t> bits_per_second,
                                 int64_t warm_up, int64_t timed)
    : bits_per_second_(std::move(bits_per_second)),
      warm_up_(warm_up),
      timed_(timed) {}

std::optional<int64_t> BandwidthStages::Due(int64_t iterations) const {
  if (timed_ == 0 || all_timed()) return std::nullopt;
  if (iterations < began_.back() + warm_up_ + timed_) return std::nullopt;
  return began_.size() < bits_per_second_.size()
             ? bits_per_second_[began_.size()]
             : kNoLimit;
}

void BandwidthStages::Set(int64_t iterations) { began_.push_back(iterations); }

PushRange BandwidthStages::Timed(size_t i) const {
  PushRange range;
  if (i >= began_.size()) return range;
  range.begin = began_[i] + warm_up_;
  range.end =
      timed_ == 0 ? std::numeric_limits<int64_t>::max() : range.begin + timed_;
  return range;
}

}  // namespace ps
