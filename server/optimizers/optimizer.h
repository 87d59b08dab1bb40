// Update rules: how an averaged gradient changes weights. docs/optimizers.md
// has the formula of each.
#ifndef SERVER_OPTIMIZERS_OPTIMIZER_H_
#define SERVER_OPTIMIZERS_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/registry.h"
#include "proto/optimizer_config.pb.h"

namespace ps {

// The part of one tensor that lies in a slice: elements [begin, end) of the
// slice.
struct TensorStretch {
  int tensor = 0;  // Its number in the model.
  int64_t begin = 0;
  int64_t end = 0;
  // False for tensors with one extent, such as biases and the scales of
  // normalisations: layer-wise rules treat those apart.
  bool adapt = true;
};

// Sums of squares over a tensor or a part of one.
struct Squares {
  double weights = 0;
  double gradient = 0;
  double step = 0;  // Of what the rule would subtract at rate 1; "lamb" alone.
};

// One update of a slice.
struct UpdateInfo {
  double learning_rate = 0;
  int64_t update = 0;  // From 0.
  // The gradient counts times this: less than 1 where clipping made it shorter.
  double gradient_scale = 1;
};

struct OptimizerOptions {
  OptimizerConfig config;  // Validated.
  int64_t num_elements = 0;
  // Of the slice, without gaps. Only layer-wise rules read them.
  std::vector<TensorStretch> stretches;
};

// The rule for one slice, with its state. An update is: SetTotals, if the rule
// is layer-wise; then Step for pieces that cover the slice, each element once
// and in any order, or one StepTouched. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The rule needs sums of squares over whole tensors, and so SetTotals.
  virtual bool layer_wise() const { return false; }

  // An element with gradient 0 keeps its weight and its state: nothing is lost
  // if only touched elements are visited.
  virtual bool skips_zeros() const { return false; }

  // Changes `weights` [end - begin], elements [begin, end) of the slice, by
  // `gradient` of the same shape: the mean over workers, or what their majority
  // voted for.
  virtual void Step(const UpdateInfo& update, int64_t begin, int64_t end,
                    const float* gradient, float* weights) = 0;

  // As Step for the elements with these ascending indices only: gradient[i] is
  // that of element indices[i] of `weights`, the whole slice. Not called for
  // layer-wise rules.
  virtual void StepTouched(const UpdateInfo& update,
                           absl::Span<const uint32_t> indices,
                           const float* gradient, float* weights) = 0;

  // Layer-wise rules only: the squares of each stretch, of the slice's whole
  // gradient (times gradient_scale) and weights. May prepare the step.
  virtual std::vector<Squares> PartialSquares(const UpdateInfo& /*update*/,
                                              const float* /*gradient*/,
                                              const float* /*weights*/) {
    return {};
  }

  // Layer-wise rules only: totals[i] is of the whole tensor of stretch i, after
  // PartialSquares of the same update.
  virtual void SetTotals(const UpdateInfo& /*update*/,
                         absl::Span<const Squares> /*totals*/) {}

  // State arrays by name, for checkpoints: as long as the slice, or one element
  // for each stretch. They stay where they are as long as the optimizer;
  // writing them restores it.
  virtual std::vector<std::pair<absl::string_view, std::vector<float>*>>
  State() = 0;
};

using OptimizerFactory =
    absl::StatusOr<std::unique_ptr<Optimizer>> (*)(const OptimizerOptions&);

// Every rule that is linked in.
Registry<OptimizerFactory>& OptimizerRegistry();

// The one that config.name() names. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(
    const OptimizerOptions& options);

// Whether an update needs sums over whole tensors or the whole gradient: of a
// layer-wise rule, or with clip_norm. False for an unknown name.
bool NeedsNorms(const OptimizerConfig& config);

#define REGISTER_OPTIMIZER(name, factory)               \
  static const bool ps_optimizer_registered_##factory = \
      ::ps::OptimizerRegistry().Register(name, factory)

}  // namespace ps

#endif  // SERVER_OPTIMIZERS_OPTIMIZER_H_
