// Returns the values of OptimizerConfig's fields whose defaults depend on the
// rule. All code reads these fields through these functions.
#ifndef OPTIMIZERS_OPTIMIZER_DEFAULTS_H_
#define OPTIMIZERS_OPTIMIZER_DEFAULTS_H_

#include "proto/optimizer_config.pb.h"

namespace ps {

double WeightDecay(const OptimizerConfig& config);
double Beta1(const OptimizerConfig& config);
double Beta2(const OptimizerConfig& config);
double Epsilon(const OptimizerConfig& config);

}  // namespace ps

#endif  // OPTIMIZERS_OPTIMIZER_DEFAULTS_H_
