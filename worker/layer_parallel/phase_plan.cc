#include "worker/layer_parallel/phase_plan.h"

#include <algorithm>

namespace ps {

PhasePlan::PhasePlan(const LayerParallelConfig& config, int64_t epochs)
    : parallel_(epochs) {
  if (config.stages() == 1) return;
  int64_t epoch = config.warm_start_epochs();
  while (epoch < epochs) {
    const int64_t left = epochs - epoch;
    const int64_t serial = std::min<int64_t>(config.serial_epochs(), left);
    const int64_t parallel =
        std::min<int64_t>(config.parallel_epochs(), left - serial);
    std::fill_n(parallel_.begin() + epoch, parallel, true);
    epoch += parallel + serial;
  }
}

}  // namespace ps
