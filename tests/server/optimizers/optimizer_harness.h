// What tests of update rules share: configs, random weights and gradients, and
// updates as a server does them.
#ifndef TESTS_SERVER_OPTIMIZERS_OPTIMIZER_HARNESS_H_
#define TESTS_SERVER_OPTIMIZERS_OPTIMIZER_HARNESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/optimizer_config.pb.h"
#include "server/optimizers/optimizer.h"

namespace ps {

// What stands between the braces of `optimizer { ... }`.
OptimizerConfig OptimizerFrom(const std::string& text);

// Every rule with its defaults, and with each of its options, weight decay
// unset.
std::vector<OptimizerConfig> RuleVariants();

// "novograd averaging: true", for messages.
std::string TextOf(const OptimizerConfig& config);

// One tensor after the other, whole; those of less than kSmall elements are
// not adapted to.
constexpr int64_t kSmall = 16;
std::vector<TensorStretch> WholeTensors(const std::vector<int64_t>& sizes);

// Of these stretches.
OptimizerOptions OptionsOf(const OptimizerConfig& config,
                           const std::vector<TensorStretch>& stretches);

// Dies on an error.
std::unique_ptr<Optimizer> NewRule(const OptimizerConfig& config,
                                   const std::vector<TensorStretch>& stretches);

// Starting weights and the gradients of some updates, normally distributed.
struct Trajectory {
  std::vector<float> weights;
  std::vector<std::vector<float>> gradients;
  // Of every update; 0: that of UpdateOf. For references only.
  double rate = 0;
};
Trajectory RandomTrajectory(int64_t num_elements, int num_updates,
                            uint64_t seed);

// Update t of a rate that changes, so that a rule which keeps old rates in its
// buffer, or does not, is found out.
UpdateInfo UpdateOf(int t);

// Of a slice that holds whole tensors. Layer-wise rules get its squares as
// totals.
void WholeStep(const UpdateInfo& update, const std::vector<float>& gradient,
               Optimizer* optimizer, std::vector<float>* weights);

// Weights after all gradients of `trajectory`, by WholeStep.
std::vector<float> WeightsAfter(const OptimizerConfig& config,
                                const std::vector<TensorStretch>& stretches,
                                const Trajectory& trajectory);

// Copies of all state arrays.
std::vector<std::vector<float>> StateOf(Optimizer* optimizer);

}  // namespace ps

#endif  // TESTS_SERVER_OPTIMIZERS_OPTIMIZER_HARNESS_H_
