// The sequence of bandwidths that one run uses.
//
// What a synchronous job learns does not depend on how fast its messages are.
// A few iterations at each bandwidth therefore show the time of an iteration
// there, and the others, which only show how the loss falls, may run at full
// speed.
#ifndef TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_
#define TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/bench/network/measures.h"

namespace ps {

class BandwidthStages {
 public:
  // Each bandwidth lasts for warm_up + timed iterations, which are at least 1
  // each; after the last there is no limit. With timed = 0 the first bandwidth
  // lasts to the end.
  BandwidthStages(std::vector<int64_t> bits_per_second, int64_t warm_up,
                  int64_t timed);

  // The limit to be set after this number of iterations: bits per second, or
  // kNoLimit. No value: the current limit stays. Must be followed by Set.
  static constexpr int64_t kNoLimit = 0;
  std::optional<int64_t> Due(int64_t iterations) const;

  // To be called when the limit has been set, after `iterations` iterations.
  // The iteration that is running had both limits and counts as warm-up.
  void Set(int64_t iterations);

  // Whether all bandwidths have been timed.
  bool all_timed() const { return began_.size() > bits_per_second_.size(); }

  // The iterations that are timed at bandwidth number i; empty if the run did
  // not reach it.
  PushRange Timed(size_t i) const;

 private:
  const std::vector<int64_t> bits_per_second_;
  const int64_t warm_up_;
  const int64_t timed_;
  // By stage: the number of iterations done when it began.
  std::vector<int64_t> began_ = {0};
};

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_
