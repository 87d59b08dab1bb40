// The update rules once more, from their definitions, in double precision and
// without state: every buffer is the sum over all gradients that it stands for.
#ifndef TESTS_SERVER_OPTIMIZERS_OPTIMIZER_REFERENCE_H_
#define TESTS_SERVER_OPTIMIZERS_OPTIMIZER_REFERENCE_H_

#include <vector>

#include "proto/optimizer_config.pb.h"
#include "server/optimizers/optimizer.h"
#include "tests/server/optimizers/optimizer_harness.h"

namespace ps {

// Weights after all gradients of `trajectory`, at the rates of UpdateOf.
// `stretches` are whole tensors. Has a table of defaults of its own.
std::vector<double> ReferenceWeights(
    const OptimizerConfig& config, const std::vector<TensorStretch>& stretches,
    const Trajectory& trajectory);

}  // namespace ps

#endif  // TESTS_SERVER_OPTIMIZERS_OPTIMIZER_REFERENCE_H_
