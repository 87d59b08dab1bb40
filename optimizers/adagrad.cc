// Implements Duchi et al., "Adaptive subgradient methods for online learning
// and stochastic optimization", JMLR 2011, with PyTorch's epsilon and decay of
// the rate.
#include "optimizers/element_loop.h"
#include "optimizers/elements.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {
namespace {

class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const OptimizerOptions& options)
      : weight_decay_(static_cast<float>(WeightDecay(options.config))),
        rate_decay_(options.config.learning_rate_decay()),
        epsilon_(static_cast<float>(Epsilon(options.config))),
        sums_(options.num_elements,
              static_cast<float>(options.config.initial_accumulator())) {}

  bool skips_zeros() const override { return weight_decay_ == 0; }

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    ForPiece(ElementOf(update), end - begin, gradient, weights,
             sums_.data() + begin);
  }

  void StepTouched(const UpdateInfo& update, absl::Span<const uint32_t> indices,
                   const float* gradient, float* weights) override {
    ForTouched(ElementOf(update), indices, gradient, weights, sums_.data());
  }

  std::optional<ElementRule> RuleOf(const UpdateInfo& update) const override {
    return ElementOf(update);
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"sum_of_squares", &sums_}};
  }

 private:
  AdagradElement ElementOf(const UpdateInfo& update) const {
    const double rate = update.learning_rate /
                        (1 + static_cast<double>(update.update) * rate_decay_);
    return {static_cast<float>(update.gradient_scale), weight_decay_,
            static_cast<float>(rate), epsilon_};
  }

  const float weight_decay_;
  const double rate_decay_;
  const float epsilon_;
  std::vector<float> sums_;  // [num_elements]
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewAdagrad(
    const OptimizerOptions& options) {
  return std::make_unique<Adagrad>(options);
}

REGISTER_OPTIMIZER("adagrad", "steps that shrink where gradients were large",
                   NewAdagrad);

}  // namespace
}  // namespace ps
