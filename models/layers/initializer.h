// The initial values of a parameter.
#ifndef MODELS_LAYERS_INITIALIZER_H_
#define MODELS_LAYERS_INITIALIZER_H_

#include <cstdint>

namespace ps {

struct Initializer {
  enum class Kind {
    kConstant,  // value
    kUniform,   // U(-value, value)
    kNormal,    // N(0, value^2)
  };
  Kind kind = Kind::kConstant;
  double value = 0;

  static Initializer Constant(double value) { return {Kind::kConstant, value}; }
  static Initializer Uniform(double bound) { return {Kind::kUniform, bound}; }
  static Initializer Normal(double deviation) {
    return {Kind::kNormal, deviation};
  }

  // Returns PyTorch's default for Conv2d and Linear: kaiming_uniform with a =
  // sqrt(5) (He et al., "Delving deep into rectifiers", ICCV 2015, with that
  // slope instead of the ReLU's 0). This is U(-b, b) with b = 1 / sqrt(fan_in),
  // for weights and biases alike.
  static Initializer FanInUniform(int64_t fan_in);

  // Returns equation 10 of He et al.: N(0, 2 / fan), which preserves the
  // variance through ReLUs. `fan` is the number of inputs of an output, or for
  // the backward pass (equation 14) the number of outputs of an input.
  static Initializer HeNormal(int64_t fan);

  bool operator==(const Initializer& other) const {
    return kind == other.kind && value == other.value;
  }
};

// Fills values[0, n) with draws that are a pure function of `key`.
void Initialize(const Initializer& initializer, uint64_t key, int64_t n,
                float* values);

}  // namespace ps

#endif  // MODELS_LAYERS_INITIALIZER_H_
