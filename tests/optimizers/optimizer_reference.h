// Independent implementations of the update rules from their definitions, in
// double precision and without state: every buffer is computed as the sum over
// all gradients that it represents.
#ifndef TESTS_OPTIMIZERS_OPTIMIZER_REFERENCE_H_
#define TESTS_OPTIMIZERS_OPTIMIZER_REFERENCE_H_

#include <vector>

#include "optimizers/optimizer.h"
#include "proto/optimizer_config.pb.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {

// The weights after all gradients of `trajectory`, at the learning rates of
// UpdateOf. `stretches` are whole tensors. The defaults come from a separate
// table.
std::vector<double> ReferenceWeights(
    const OptimizerConfig& config, const std::vector<TensorStretch>& stretches,
    const Trajectory& trajectory);

}  // namespace ps

#endif  // TESTS_OPTIMIZERS_OPTIMIZER_REFERENCE_H_
