#include "optimizers/optimizer.h"

#include "common/status_macros.h"

namespace ps {

Registry<OptimizerFactory>& OptimizerRegistry() {
  static auto* const registry = new Registry<OptimizerFactory>("optimizer");
  return *registry;
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(
    const OptimizerOptions& options) {
  PS_ASSIGN_OR_RETURN(const OptimizerFactory factory,
                      OptimizerRegistry().Find(options.config.name()));
  return factory(options);
}

bool NeedsNorms(const OptimizerConfig& config) {
  if (config.clip_norm() > 0) return true;
  OptimizerOptions options;
  options.config = config;
  options.num_elements = 1;
  options.stretches = {{0, 0, 1, true}};
  const auto optimizer = NewOptimizer(options);
  return optimizer.ok() && (*optimizer)->layer_wise();
}

}  // namespace ps
