// Update rules: how an averaged gradient changes weights.
#ifndef SERVER_OPTIMIZERS_OPTIMIZER_H_
#define SERVER_OPTIMIZERS_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/registry.h"
#include "proto/config.pb.h"

namespace ps {

// The rule for one slice, with its state. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update. gradient: the mean over workers, or what their majority voted
  // for; weights: changed in place. Both have the size given to the factory.
  virtual void Step(double learning_rate, const float* gradient,
                    float* weights) = 0;

  // State arrays by name, each as long as the slice, for checkpoints. The
  // spans stay valid as long as the optimizer; writing them restores it.
  virtual std::vector<std::pair<absl::string_view, std::vector<float>*>>
  State() = 0;
};

using OptimizerFactory = absl::StatusOr<std::unique_ptr<Optimizer>> (*)(
    const OptimizerConfig& config, int64_t num_elements);

// Every rule that is linked in.
Registry<OptimizerFactory>& OptimizerRegistry();

// The one that config.name() names. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(
    const OptimizerConfig& config, int64_t num_elements);

#define REGISTER_OPTIMIZER(name, factory)               \
  static const bool ps_optimizer_registered_##factory = \
      ::ps::OptimizerRegistry().Register(name, factory)

}  // namespace ps

#endif  // SERVER_OPTIMIZERS_OPTIMIZER_H_
