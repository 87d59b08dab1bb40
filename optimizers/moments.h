// Computes the two moments of a gradient that "adam", "adamw" and "lamb" keep:
// Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015,
// algorithm 1.
#ifndef OPTIMIZERS_MOMENTS_H_
#define OPTIMIZERS_MOMENTS_H_

#include <cmath>

#include "optimizers/elements.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"

namespace ps {

inline AdamMoments MomentsOf(const OptimizerConfig& config,
                             const UpdateInfo& update) {
  const double beta1 = Beta1(config);
  const double beta2 = Beta2(config);
  const double updates = static_cast<double>(update.update) + 1;
  AdamMoments moments;
  moments.beta1 = static_cast<float>(beta1);
  moments.beta2 = static_cast<float>(beta2);
  moments.entering1 = static_cast<float>(1 - beta1);
  moments.entering2 = static_cast<float>(1 - beta2);
  moments.correction1 = static_cast<float>(1 / (1 - std::pow(beta1, updates)));
  moments.correction2 =
      static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, updates)));
  moments.epsilon = static_cast<float>(Epsilon(config));
  return moments;
}

}  // namespace ps

#endif  // OPTIMIZERS_MOMENTS_H_
