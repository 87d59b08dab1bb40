#include "optimizers/optimizer_defaults.h"

#include <string>

namespace ps {

double WeightDecay(const OptimizerConfig& config) {
  if (config.has_weight_decay()) return config.weight_decay();
  return config.name() == "adamw" || config.name() == "lamb" ? 0.01 : 0;
}

double Beta1(const OptimizerConfig& config) {
  if (config.has_beta1()) return config.beta1();
  return config.name() == "novograd" ? 0.95 : 0.9;
}

double Beta2(const OptimizerConfig& config) {
  if (config.has_beta2()) return config.beta2();
  return config.name() == "novograd" ? 0.98 : 0.999;
}

double Epsilon(const OptimizerConfig& config) {
  if (config.has_epsilon()) return config.epsilon();
  const std::string& name = config.name();
  if (name == "lars") return 0;
  if (name == "adagrad") return 1e-10;
  return name == "lamb" ? 1e-6 : 1e-8;
}

}  // namespace ps
