// Gradient descent with momentum: heavy ball (Polyak, USSR Comput. Math. Math.
// Phys. 1964) and Nesterov's, in the form of Sutskever et al., ICML 2013, with
// PyTorch's conventions: the learning rate stays outside the buffer, and the
// buffer starts as the first gradient.
#include "server/optimizers/optimizer.h"

namespace ps {
namespace {

// d = g + weight_decay w;  b = momentum b + d;
// heavy ball: w = w - learning_rate b;
// Nesterov:   w = w - learning_rate (d + momentum b).
// A buffer of zeros makes the first b the first d.
class Momentum final : public Optimizer {
 public:
  Momentum(const OptimizerConfig& config, bool nesterov, int64_t num_elements)
      : momentum_(static_cast<float>(config.momentum())),
        weight_decay_(static_cast<float>(config.weight_decay())),
        nesterov_(nesterov),
        buffer_(num_elements) {}

  void Step(double learning_rate, const float* gradient,
            float* weights) override {
    const float rate = static_cast<float>(learning_rate);
    float* const buffer = buffer_.data();
    const int64_t n = static_cast<int64_t>(buffer_.size());
    if (nesterov_) {
      for (int64_t i = 0; i < n; ++i) {
        const float d = gradient[i] + weight_decay_ * weights[i];
        buffer[i] = momentum_ * buffer[i] + d;
        weights[i] -= rate * (d + momentum_ * buffer[i]);
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const float d = gradient[i] + weight_decay_ * weights[i];
        buffer[i] = momentum_ * buffer[i] + d;
        weights[i] -= rate * buffer[i];
      }
    }
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"momentum", &buffer_}};
  }

 private:
  const float momentum_;
  const float weight_decay_;
  const bool nesterov_;
  std::vector<float> buffer_;  // [num_elements]
};

absl::StatusOr<std::unique_ptr<Optimizer>> NewHeavyBall(
    const OptimizerConfig& config, int64_t num_elements) {
  return std::make_unique<Momentum>(config, /*nesterov=*/false, num_elements);
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewNesterov(
    const OptimizerConfig& config, int64_t num_elements) {
  return std::make_unique<Momentum>(config, /*nesterov=*/true, num_elements);
}

REGISTER_OPTIMIZER("momentum", NewHeavyBall);
REGISTER_OPTIMIZER("nesterov", NewNesterov);

}  // namespace
}  // namespace ps
