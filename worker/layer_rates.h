// The learning rates of a model's layers, as a job sets them.
#ifndef WORKER_LAYER_RATES_H_
#define WORKER_LAYER_RATES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tensor/parameter_info.h"

namespace ps {

// The learning rate of each parameter, relative to that of the job: of
// layer_rates in worker_optimizer, or else in optimizer. 0: it is frozen. Empty
// if the job names no rates. Errors: kInvalidArgument if a pattern matches no
// parameter, or if all are frozen.
absl::StatusOr<std::vector<double>> LayerRates(
    const JobConfig& config, const std::vector<ParameterInfo>& parameters);

}  // namespace ps

#endif  // WORKER_LAYER_RATES_H_
