// Decides which epochs of a training are parallel, and which are serial.
#ifndef WORKER_LAYER_PARALLEL_PHASE_PLAN_H_
#define WORKER_LAYER_PARALLEL_PHASE_PLAN_H_

#include <cstdint>
#include <vector>

#include "proto/layer_parallel_config.pb.h"

namespace ps {

// The plan: a warm start of serial epochs, then alternating parallel and serial
// phases. The last phase is serial. The parallel phase before it is shorter if
// there are not enough epochs, and too few epochs for both are serial.
// Immutable.
class PhasePlan {
 public:
  PhasePlan(const LayerParallelConfig& config, int64_t epochs);

  bool parallel(int64_t epoch) const { return parallel_[epoch]; }
  // Whether this serial epoch, the last before a parallel phase, records the
  // auxiliary variables.
  bool records(int64_t epoch) const {
    return !parallel(epoch) && epoch + 1 < epochs() && parallel(epoch + 1);
  }
  // Whether a phase begins with this epoch.
  bool begins(int64_t epoch) const {
    return epoch == 0 || parallel(epoch) != parallel(epoch - 1);
  }
  bool ends(int64_t epoch) const {
    return epoch + 1 == epochs() || begins(epoch + 1);
  }
  int64_t epochs() const { return static_cast<int64_t>(parallel_.size()); }

 private:
  std::vector<bool> parallel_;  // [epochs]
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_PHASE_PLAN_H_
