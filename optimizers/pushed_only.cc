#include "optimizers/pushed_only.h"

#include <memory>

#include "absl/status/statusor.h"
#include "optimizers/optimizer.h"

namespace ps {

bool ChangesOnlyWhatWasPushed(const JobConfig& job) {
  if (job.optimizer().majority_vote()) return false;
  // A rule without elements suffices: its properties do not depend on their
  // number.
  OptimizerOptions options;
  options.config = job.optimizer();
  const absl::StatusOr<std::unique_ptr<Optimizer>> rule = NewOptimizer(options);
  if (!rule.ok() || (*rule)->layer_wise()) return false;
  return (*rule)->skips_zeros() ||
         job.optimizer().sparse_update() == OptimizerConfig::LAZY;
}

}  // namespace ps
