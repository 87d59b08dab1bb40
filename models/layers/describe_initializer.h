// Writes initializers into a config.
#ifndef MODELS_LAYERS_DESCRIBE_INITIALIZER_H_
#define MODELS_LAYERS_DESCRIBE_INITIALIZER_H_

#include <cstdint>

#include "models/layers/initializer.h"
#include "proto/layers_config.pb.h"

namespace ps {

// The numbers of inputs of an output and of outputs of an input; 0 where they
// have no meaning for a tensor.
struct Fans {
  int64_t in = 0;
  int64_t out = 0;
};

// Writes `initializer` into the message that `config` returns, unless it is
// `usual`, the default.
template <typename Config>
void DescribeInitializer(const Initializer& initializer,
                         const Initializer& usual, const Fans& fans,
                         const Config& config) {
  if (initializer == usual) return;
  InitialValuesConfig& values = *config();
  if (fans.in > 0 && initializer == Initializer::HeNormal(fans.in)) {
    values.set_he_normal(InitialValuesConfig::FAN_IN);
  } else if (fans.out > 0 && initializer == Initializer::HeNormal(fans.out)) {
    values.set_he_normal(InitialValuesConfig::FAN_OUT);
  } else if (initializer.kind == Initializer::Kind::kConstant) {
    values.set_constant(initializer.value);
  } else if (initializer.kind == Initializer::Kind::kUniform) {
    values.set_uniform(initializer.value);
  } else {
    values.set_normal(initializer.value);
  }
}

}  // namespace ps

#endif  // MODELS_LAYERS_DESCRIBE_INITIALIZER_H_
