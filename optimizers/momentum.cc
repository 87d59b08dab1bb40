// Implements gradient descent with momentum: heavy ball (Polyak, USSR Comput.
// Math. Math. Phys. 1964) and Nesterov's, in the form of Sutskever et al., ICML
// 2013, with PyTorch's conventions: the learning rate stays outside the buffer,
// and the buffer starts as the first gradient, which dampening does not
// shorten.
#include "optimizers/element_loop.h"
#include "optimizers/elements.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {
namespace {

template <bool kNesterov>
class Momentum final : public Optimizer {
 public:
  explicit Momentum(const OptimizerOptions& options)
      : momentum_(static_cast<float>(options.config.momentum())),
        weight_decay_(static_cast<float>(WeightDecay(options.config))),
        entering_(
            kNesterov ? 1 : static_cast<float>(1 - options.config.dampening())),
        buffer_(options.num_elements) {}

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    ForPiece(ElementOf(update), end - begin, gradient, weights,
             buffer_.data() + begin);
  }

  void StepTouched(const UpdateInfo& update, absl::Span<const uint32_t> indices,
                   const float* gradient, float* weights) override {
    ForTouched(ElementOf(update), indices, gradient, weights, buffer_.data());
  }

  std::optional<ElementRule> RuleOf(const UpdateInfo& update) const override {
    return ElementOf(update);
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"momentum", &buffer_}};
  }

 private:
  MomentumElement<kNesterov> ElementOf(const UpdateInfo& update) const {
    return {static_cast<float>(update.gradient_scale), weight_decay_, momentum_,
            update.update == 0 ? 1 : entering_,
            static_cast<float>(update.learning_rate)};
  }

  const float momentum_;
  const float weight_decay_;
  const float entering_;
  std::vector<float> buffer_;  // [num_elements]
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewHeavyBall(
    const OptimizerOptions& options) {
  return std::make_unique<Momentum<false>>(options);
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewNesterov(
    const OptimizerOptions& options) {
  return std::make_unique<Momentum<true>>(options);
}

REGISTER_OPTIMIZER("momentum", "gradient descent with momentum", NewHeavyBall);
REGISTER_OPTIMIZER("nesterov",
                   "gradient descent with momentum that looks ahead",
                   NewNesterov);

}  // namespace
}  // namespace ps
