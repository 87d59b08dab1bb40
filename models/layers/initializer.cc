#include "models/layers/initializer.h"

#include <algorithm>
#include <cmath>

#include "common/random.h"

namespace ps {

Initializer Initializer::FanInUniform(int64_t fan_in) {
  return Uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

Initializer Initializer::HeNormal(int64_t fan) {
  return Normal(std::sqrt(2 / static_cast<double>(fan)));
}

void Initialize(const Initializer& initializer, uint64_t key, int64_t n,
                float* values) {
  RandomStream random(key);
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      std::fill_n(values, n, static_cast<float>(initializer.value));
      break;
    case Initializer::Kind::kUniform:
      for (int64_t i = 0; i < n; ++i) {
        values[i] = static_cast<float>(
            random.Uniform(-initializer.value, initializer.value));
      }
      break;
    case Initializer::Kind::kNormal:
      for (int64_t i = 0; i < n; ++i) {
        values[i] = static_cast<float>(initializer.value * random.Normal());
      }
      break;
  }
}

}  // namespace ps
