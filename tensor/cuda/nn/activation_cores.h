// Activation functions and their gradients, element by element. The result may
// be the same array as an argument. T is the element type of the arrays;
// computation is in float. Count: elements.
#ifndef TENSOR_CUDA_NN_ACTIVATION_CORES_H_
#define TENSOR_CUDA_NN_ACTIVATION_CORES_H_

#include <math.h>

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

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

// y = max(x, 0) with sign = value = x; dx with sign = y and value = dy.
template <typename T>
struct ReluCore : ElementCore {
  static constexpr const char* kName = "Relu";
  const T* sign;
  const T* value;
  T* result;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    result[i] = WherePositive(sign[i], value[i]);
  }
};

template <typename T>
struct TanhCore : ElementCore {
  static constexpr const char* kName = "Tanh";
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const { y[i] = tanhf(x[i]); }
};

template <typename T>
struct TanhGradientCore : ElementCore {
  static constexpr const char* kName = "TanhGradient";
  const T* y;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] = dy[i] * TanhSlope(y[i]);
  }
};

template <typename T>
struct SigmoidCore : ElementCore {
  static constexpr const char* kName = "Sigmoid";
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const { y[i] = Sigmoid(x[i]); }
};

template <typename T>
struct SigmoidGradientCore : ElementCore {
  static constexpr const char* kName = "SigmoidGradient";
  const T* y;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    dx[i] = dy[i] * SigmoidSlope(y[i]);
  }
};

// y = a + b, or y = a if b is null.
template <typename T>
struct SumCore : ElementCore {
  static constexpr const char* kName = "Sum";
  const T* a;
  const T* b;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    float sum = a[i];
    if (b != nullptr) sum += b[i];
    y[i] = sum;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ACTIVATION_CORES_H_
