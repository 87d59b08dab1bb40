// The bandwidths that one run meets, one after the other.
//
// What a synchronous job learns does not depend on how fast its messages are.
// So a few iterations at each bandwidth say what an iteration takes there, and
// the rest, which only say how the loss falls, may pass at full speed.
#ifndef TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_
#define TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/bench/network/measures.h"

namespace ps {

class BandwidthStages {
 public:
  // Each of the bandwidths lasts for warm_up + timed iterations, which are at
  // least 1 each; then there is no limit. With timed = 0 the first one lasts
  // to the end.
  BandwidthStages(std::vector<int64_t> bits_per_second, int64_t warm_up,
                  int64_t timed);

  // The limit that is due after so many iterations: bits per second, or
  // kNoLimit. None: what is set stays. To be followed by Set.
  static constexpr int64_t kNoLimit = 0;
  std::optional<int64_t> Due(int64_t iterations) const;

  // The limit that was due is set now, when so many iterations are over. The
  // one that is under way had both, and counts to the warm-up.
  void Set(int64_t iterations);

  // Whether there is no bandwidth left to be timed.
  bool all_timed() const { return began_.size() > bits_per_second_.size(); }

  // The iterations that are timed at bandwidth number i; empty if it did not
  // come to that.
  IterationRange Timed(size_t i) const;

 private:
  const std::vector<int64_t> bits_per_second_;
  const int64_t warm_up_;
  const int64_t timed_;
  // By stage: iterations that were over when it began.
  std::vector<int64_t> began_ = {0};
};

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BANDWIDTH_STAGES_H_
