// Adam (Kingma and Ba, ICLR 2015) with weight decay as a part of the gradient,
// and AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization",
// ICLR 2019), which shrinks the weights instead. Epsilon stands outside the
// root and after the bias correction, for touched elements too.
#include "optimizers/element_loop.h"
#include "optimizers/elements.h"
#include "optimizers/moments.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {
namespace {

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, bool decoupled)
      : config_(options.config),
        decoupled_(decoupled),
        weight_decay_(WeightDecay(options.config)),
        first_(options.num_elements),
        second_(options.num_elements) {}

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    ForPiece(ElementOf(update), end - begin, gradient, weights,
             first_.data() + begin, second_.data() + begin);
  }

  void StepTouched(const UpdateInfo& update, absl::Span<const uint32_t> indices,
                   const float* gradient, float* weights) override {
    ForTouched(ElementOf(update), indices, gradient, weights, first_.data(),
               second_.data());
  }

  std::optional<ElementRule> RuleOf(const UpdateInfo& update) const override {
    return ElementOf(update);
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"first_moment", &first_}, {"second_moment", &second_}};
  }

 private:
  AdamElement ElementOf(const UpdateInfo& update) const {
    const double shrink = update.learning_rate * weight_decay_;
    return {MomentsOf(config_, update),
            static_cast<float>(update.gradient_scale),
            decoupled_ ? 0 : static_cast<float>(weight_decay_),
            decoupled_ ? static_cast<float>(shrink) : 0,
            static_cast<float>(update.learning_rate)};
  }

  const OptimizerConfig config_;
  const bool decoupled_;
  const double weight_decay_;
  std::vector<float> first_;   // [num_elements]
  std::vector<float> second_;  // [num_elements]
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewAdam(
    const OptimizerOptions& options) {
  return std::make_unique<Adam>(options, /*decoupled=*/false);
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewAdamW(
    const OptimizerOptions& options) {
  return std::make_unique<Adam>(options, /*decoupled=*/true);
}

REGISTER_OPTIMIZER("adam", "steps scaled by moments of the gradient", NewAdam);
REGISTER_OPTIMIZER("adamw", "adam with weight decay apart from the gradient",
                   NewAdamW);

}  // namespace
}  // namespace ps
