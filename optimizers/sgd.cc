// Implements plain gradient descent.
#include "optimizers/element_loop.h"
#include "optimizers/elements.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {
namespace {

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerOptions& options)
      : weight_decay_(static_cast<float>(WeightDecay(options.config))) {}

  bool skips_zeros() const override { return weight_decay_ == 0; }

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    ForPiece(ElementOf(update), end - begin, gradient, weights);
  }

  void StepTouched(const UpdateInfo& update, absl::Span<const uint32_t> indices,
                   const float* gradient, float* weights) override {
    ForTouched(ElementOf(update), indices, gradient, weights);
  }

  std::optional<ElementRule> RuleOf(const UpdateInfo& update) const override {
    return ElementOf(update);
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {};
  }

 private:
  SgdElement ElementOf(const UpdateInfo& update) const {
    return {static_cast<float>(update.gradient_scale), weight_decay_,
            static_cast<float>(update.learning_rate)};
  }

  const float weight_decay_;
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewSgd(
    const OptimizerOptions& options) {
  return std::make_unique<Sgd>(options);
}

REGISTER_OPTIMIZER("sgd", "gradient descent without a memory", NewSgd);

}  // namespace
}  // namespace ps
