// Activation functions and their gradients, element by element. The result may
// be the same array as an argument. T is the element type of the arrays;
// computation is in float. Count: elements.
#ifndef TENSOR_CUDA_NN_ACTIVATION_CORES_H_
#define TENSOR_CUDA_NN_ACTIVATION_CORES_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"

namespace ps {

// The function of a layer's output, if there is one.
enum class ActivationKind { kNone, kRelu, kTanh, kSigmoid };

// 1 / (1 + exp(-x)); an infinite exponential gives 0.
PS_HOST_DEVICE inline float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

// Derivatives in terms of the function's value.
PS_HOST_DEVICE inline float SigmoidSlope(float y) { return y * (1 - y); }
PS_HOST_DEVICE inline float TanhSlope(float y) { return 1 - y * y; }

// Returns `value` where `sign` is above 0 or NaN, else 0: a NaN must not be
// hidden.
PS_HOST_DEVICE inline float WherePositive(float sign, float value) {
  return sign <= 0 ? 0 : value;
}

PS_HOST_DEVICE inline float Activated(ActivationKind kind, float x) {
  switch (kind) {
    case ActivationKind::kRelu:
      return WherePositive(x, x);
    case ActivationKind::kTanh:
      return tanhf(x);
    case ActivationKind::kSigmoid:
      return Sigmoid(x);
    case ActivationKind::kNone:
      break;
  }
  return x;
}

// The gradient of x, where y is the function's value.
PS_HOST_DEVICE inline float ActivationGradient(ActivationKind kind, float y,
                                               float dy) {
  switch (kind) {
    case ActivationKind::kRelu:
      return WherePositive(y, dy);
    case ActivationKind::kTanh:
      return dy * TanhSlope(y);
    case ActivationKind::kSigmoid:
      return dy * SigmoidSlope(y);
    case ActivationKind::kNone:
      break;
  }
  return dy;
}

template <typename T>
struct ActivationCore : PacketCore {
  static constexpr const char* kName = "Activation";
  ActivationKind kind;
  const T* x;
  T* y;

  using Inputs = Arrays<&ActivationCore::x>;
  using Output = Arrays<&ActivationCore::y>;
  PS_HOST_DEVICE float operator()(int64_t, int, float x) const {
    return Activated(kind, x);
  }
};

template <typename T>
struct ActivationGradientCore : PacketCore {
  static constexpr const char* kName = "ActivationGradient";
  ActivationKind kind;
  const T* y;
  const T* dy;
  T* dx;

  using Inputs =
      Arrays<&ActivationGradientCore::y, &ActivationGradientCore::dy>;
  using Output = Arrays<&ActivationGradientCore::dx>;
  PS_HOST_DEVICE float operator()(int64_t, int, float y, float dy) const {
    return ActivationGradient(kind, y, dy);
  }
};

// y = a + b.
template <typename T>
struct SumCore : PacketCore {
  static constexpr const char* kName = "Sum";
  const T* a;
  const T* b;
  T* y;

  using Inputs = Arrays<&SumCore::a, &SumCore::b>;
  using Output = Arrays<&SumCore::y>;
  PS_HOST_DEVICE float operator()(int64_t, int, float a, float b) const {
    return a + b;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ACTIVATION_CORES_H_
