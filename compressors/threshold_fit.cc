#include "compressors/threshold_fit.h"

#include <cmath>
#include <limits>

namespace ps {

double ExponentialThreshold(const TailSample& sample, double density) {
  return -sample.mean * std::log(density);
}

const TailFamily kExponentialFamily = {ExponentialThreshold,
                                       ExponentialThreshold};

float FloatAtMost(double x) {
  constexpr float kMax = std::numeric_limits<float>::max();
  if (x >= kMax) return kMax;
  const float nearest = static_cast<float>(x);
  return nearest > x ? std::nextafter(nearest, 0.0f) : nearest;
}

}  // namespace ps
