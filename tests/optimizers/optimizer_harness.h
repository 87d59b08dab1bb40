// Common parts of the tests of update rules: configs, random weights and
// gradients, and updates as a server applies them.
#ifndef TESTS_OPTIMIZERS_OPTIMIZER_HARNESS_H_
#define TESTS_OPTIMIZERS_OPTIMIZER_HARNESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "optimizers/optimizer.h"
#include "proto/optimizer_config.pb.h"

namespace ps {

// Parses the text between the braces of `optimizer { ... }`.
OptimizerConfig OptimizerFrom(const std::string& text);

// Every rule with its defaults and with each of its options; weight decay is
// unset.
std::vector<OptimizerConfig> RuleVariants();

// "novograd averaging: true", for messages.
std::string TextOf(const OptimizerConfig& config);

// Whole tensors of these sizes, one after the other. Tensors with fewer than
// kSmall elements have adapt false.
constexpr int64_t kSmall = 16;
std::vector<TensorStretch> WholeTensors(const std::vector<int64_t>& sizes);

// Options for a slice with these stretches.
OptimizerOptions OptionsOf(const OptimizerConfig& config,
                           const std::vector<TensorStretch>& stretches);

// Makes the rule; CHECKs that this succeeds.
std::unique_ptr<Optimizer> NewRule(const OptimizerConfig& config,
                                   const std::vector<TensorStretch>& stretches);

// Starting weights and the gradients of some updates, normally distributed.
struct Trajectory {
  std::vector<float> weights;
  std::vector<std::vector<float>> gradients;
  // Learning rate of every update; 0: that of UpdateOf. For references only.
  double rate = 0;
};
Trajectory RandomTrajectory(int64_t num_elements, int num_updates,
                            uint64_t seed);

// Update t, with a learning rate that changes, so that the tests distinguish
// rules whose buffer contains old rates from those whose buffer does not.
UpdateInfo UpdateOf(int t);

// One update of a slice that holds whole tensors. Layer-wise rules get the
// slice's squares as totals.
void WholeStep(const UpdateInfo& update, const std::vector<float>& gradient,
               Optimizer* optimizer, std::vector<float>* weights);

// The weights after all gradients of `trajectory`, applied by WholeStep.
std::vector<float> WeightsAfter(const OptimizerConfig& config,
                                const std::vector<TensorStretch>& stretches,
                                const Trajectory& trajectory);

// Copies of all state arrays.
std::vector<std::vector<float>> StateOf(Optimizer* optimizer);

}  // namespace ps

#endif  // TESTS_OPTIMIZERS_OPTIMIZER_HARNESS_H_
