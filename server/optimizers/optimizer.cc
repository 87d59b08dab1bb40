#include "server/optimizers/optimizer.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/status_macros.h"

namespace ps {
namespace {

void CheckOptimizerConfig(const JobConfig& job, ConfigProblems* problems) {
  const OptimizerConfig& config = job.optimizer();
  const absl::StatusOr<OptimizerFactory> factory =
      OptimizerRegistry().Find(config.name());
  if (!factory.ok()) {
    problems->Add("optimizer.name", absl::StrCat("\"", config.name(), "\""),
                  std::string(factory.status().message()));
  }
  if (!(std::isfinite(config.learning_rate()) && config.learning_rate() > 0)) {
    problems->Add("optimizer.learning_rate",
                  absl::StrCat(config.learning_rate()), "must be above 0");
  }
  if (!(config.momentum() > 0 && config.momentum() < 1)) {
    problems->Add("optimizer.momentum", absl::StrCat(config.momentum()),
                  "must be in (0, 1); for none use optimizer.name=sgd");
  }
  if (!(std::isfinite(config.weight_decay()) && config.weight_decay() >= 0)) {
    problems->Add("optimizer.weight_decay", absl::StrCat(config.weight_decay()),
                  "must be at least 0");
  }
}

const bool ps_optimizer_check = RegisterConfigCheck(CheckOptimizerConfig);

}  // namespace

Registry<OptimizerFactory>& OptimizerRegistry() {
  static auto* const registry = new Registry<OptimizerFactory>("optimizer");
  return *registry;
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(
    const OptimizerConfig& config, int64_t num_elements) {
  PS_ASSIGN_OR_RETURN(const OptimizerFactory factory,
                      OptimizerRegistry().Find(config.name()));
  return factory(config, num_elements);
}

}  // namespace ps
