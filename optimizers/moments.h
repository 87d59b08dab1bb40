// The two moments of a gradient that "adam", "adamw" and "lamb" keep: Kingma
// and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.
#ifndef OPTIMIZERS_MOMENTS_H_
#define OPTIMIZERS_MOMENTS_H_

#include <cmath>

#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {

// The constants of one update, and the step of one element.
class Moments {
 public:
  Moments(const OptimizerConfig& config, const UpdateInfo& update) {
    const double beta1 = Beta1(config);
    const double beta2 = Beta2(config);
    const double updates = static_cast<double>(update.update) + 1;
    beta1_ = static_cast<float>(beta1);
    beta2_ = static_cast<float>(beta2);
    entering1_ = static_cast<float>(1 - beta1);
    entering2_ = static_cast<float>(1 - beta2);
    // Bias correction: moments that began as 0 are too small by these factors.
    correction1_ = static_cast<float>(1 / (1 - std::pow(beta1, updates)));
    correction2_ =
        static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, updates)));
    epsilon_ = static_cast<float>(Epsilon(config));
  }

  // Adds a gradient to both moments and returns [m / (1 - beta1^t)] / [sqrt(v /
  // (1 - beta2^t)) + epsilon].
  float Direction(float d, float* first, float* second) const {
    const float m = beta1_ * *first + entering1_ * d;
    const float v = beta2_ * *second + entering2_ * (d * d);
    *first = m;
    *second = v;
    const float divisor = std::sqrt(v) * correction2_ + epsilon_;
    // With epsilon 0, both m and the divisor are 0 until the first gradient.
    return m * correction1_ / (divisor == 0 ? 1 : divisor);
  }

 private:
  float beta1_;
  float beta2_;
  float entering1_;
  float entering2_;
  float correction1_;
  float correction2_;
  float epsilon_;
};

}  // namespace ps

#endif  // OPTIMIZERS_MOMENTS_H_
