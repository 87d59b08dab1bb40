// The interface of update rules, which change weights by an averaged gradient.
// docs/optimizers.md has the formula of each.
#ifndef OPTIMIZERS_OPTIMIZER_H_
#define OPTIMIZERS_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/registry.h"
#include "optimizers/element_rule.h"
#include "proto/optimizer_config.pb.h"

namespace ps {

// The segment of one tensor that lies in a slice: elements [begin, end) of the
// slice.
struct TensorStretch {
  int tensor = 0;  // The tensor's number in the model.
  int64_t begin = 0;
  int64_t end = 0;
  // Whether layer-wise rules adapt its rate; false for tensors with one
  // dimension, such as biases and the scales of normalisations.
  bool adapt = true;
  // The learning rate of the tensor, relative to UpdateInfo.learning_rate.
  double rate = 1;
};

// Sums of squares over a tensor or a part of one.
struct Squares {
  double weights = 0;
  double gradient = 0;
  double step = 0;  // The step's sum at learning rate 1; "lamb" only.
};

// One update of a slice.
struct UpdateInfo {
  double learning_rate = 0;
  int64_t update = 0;  // The number of the update, from 0.
  // The factor of the gradient; less than 1 if clipping shortened it.
  double gradient_scale = 1;
};

struct OptimizerOptions {
  OptimizerConfig config;  // Validated.
  int64_t num_elements = 0;
  // The segments of the slice, without gaps. Only layer-wise rules read them.
  std::vector<TensorStretch> stretches;
};

// The update rule of one slice, with its state. An update consists of
// PartialSquares and SetTotals, if the rule is layer-wise, and then either Step
// for pieces that cover each element of the slice once, in any order, or a
// single StepTouched. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Whether the rule needs sums of squares over whole tensors, that is,
  // SetTotals.
  virtual bool layer_wise() const { return false; }

  // Whether an element with gradient 0 keeps its weight and its state, so that
  // an update need only visit the touched elements.
  virtual bool skips_zeros() const { return false; }

  // Changes `weights` [end - begin], elements [begin, end) of the slice, by
  // `gradient` of the same shape: the mean over workers, or their majority
  // vote. Layer-wise rules multiply the learning rate by that of each segment;
  // with other rules the caller does.
  virtual void Step(const UpdateInfo& update, int64_t begin, int64_t end,
                    const float* gradient, float* weights) = 0;

  // Like Step, for the elements with these ascending indices only: gradient[i]
  // belongs to element indices[i] of `weights`, the whole slice. Not called for
  // layer-wise rules.
  virtual void StepTouched(const UpdateInfo& update,
                           absl::Span<const uint32_t> indices,
                           const float* gradient, float* weights) = 0;

  // Returns the squares of each segment, for layer-wise rules only, computed
  // from the slice's whole gradient (times gradient_scale) and weights. May
  // prepare the step.
  virtual std::vector<Squares> PartialSquares(const UpdateInfo& /*update*/,
                                              const float* /*gradient*/,
                                              const float* /*weights*/) {
    return {};
  }

  // Takes the totals, for layer-wise rules only: totals[i] are the squares of
  // the whole tensor of segment i. Called after PartialSquares of the same
  // update.
  virtual void SetTotals(const UpdateInfo& /*update*/,
                         absl::Span<const Squares> /*totals*/) {}

  // Returns the rule for one element of this update, for rules that treat each
  // separately; nullopt for layer-wise rules.
  virtual std::optional<ElementRule> RuleOf(
      const UpdateInfo& /*update*/) const {
    return std::nullopt;
  }

  // Returns the state arrays by name, for checkpoints. Each has as many
  // elements as the slice, or one for each segment. The pointers are valid as
  // long as the optimizer; writing to the arrays restores the state.
  virtual std::vector<std::pair<absl::string_view, std::vector<float>*>>
  State() = 0;
};

using OptimizerFactory =
    absl::StatusOr<std::unique_ptr<Optimizer>> (*)(const OptimizerOptions&);

// Returns the registry of all rules that are linked in.
Registry<OptimizerFactory>& OptimizerRegistry();

// Creates the rule that config.name() names. Errors: kInvalidArgument.
absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(
    const OptimizerOptions& options);

// Whether an update needs sums over whole tensors or the whole gradient, as
// layer-wise rules and clip_norm do. False for an unknown name.
bool NeedsNorms(const OptimizerConfig& config);

// Registers a rule; `meaning` describes it in one line, for lists.
#define REGISTER_OPTIMIZER(name, meaning, factory)      \
  static const bool ps_optimizer_registered_##factory = \
      ::ps::OptimizerRegistry().Register(name, meaning, factory)

}  // namespace ps

#endif  // OPTIMIZERS_OPTIMIZER_H_
