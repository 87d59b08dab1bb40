// What unset fields of OptimizerConfig stand for: the defaults of the rule that
// `name` names. Whoever reads one of these fields reads it here.
#ifndef SERVER_OPTIMIZERS_OPTIMIZER_DEFAULTS_H_
#define SERVER_OPTIMIZERS_OPTIMIZER_DEFAULTS_H_

#include "proto/optimizer_config.pb.h"

namespace ps {

double WeightDecay(const OptimizerConfig& config);
double Beta1(const OptimizerConfig& config);
double Beta2(const OptimizerConfig& config);
double Epsilon(const OptimizerConfig& config);

}  // namespace ps

#endif  // SERVER_OPTIMIZERS_OPTIMIZER_DEFAULTS_H_
