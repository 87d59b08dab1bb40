// Plain gradient descent.
#include "server/optimizers/optimizer.h"

namespace ps {
namespace {

// d = g + weight_decay w;  w = w - learning_rate d.
class Sgd final : public Optimizer {
 public:
  Sgd(double weight_decay, int64_t num_elements)
      : weight_decay_(static_cast<float>(weight_decay)),
        num_elements_(num_elements) {}

  void Step(double learning_rate, const float* gradient,
            float* weights) override {
    const float rate = static_cast<float>(learning_rate);
    for (int64_t i = 0; i < num_elements_; ++i) {
      const float d = gradient[i] + weight_decay_ * weights[i];
      weights[i] -= rate * d;
    }
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {};
  }

 private:
  const float weight_decay_;
  const int64_t num_elements_;
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewSgd(const OptimizerConfig& config,
                                                  int64_t num_elements) {
  return std::make_unique<Sgd>(config.weight_decay(), num_elements);
}

REGISTER_OPTIMIZER("sgd", NewSgd);

}  // namespace
}  // namespace ps
