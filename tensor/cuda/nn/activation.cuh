// Activation functions and their gradients on the device, in floats.
#ifndef TENSOR_CUDA_NN_ACTIVATION_CUH_
#define TENSOR_CUDA_NN_ACTIVATION_CUH_

#include <cuda_runtime.h>

#include "tensor/cuda/nn/bias.h"

namespace ps {

// 1 / (1 + exp(-x)); an infinite exponential gives 0.
__device__ inline float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

// Derivatives in terms of the function's value.
__device__ inline float SigmoidSlope(float y) { return y * (1 - y); }
__device__ inline float TanhSlope(float y) { return 1 - y * y; }

// Returns `value` where `sign` is above 0 or NaN, else 0: a NaN must not be
// hidden.
__device__ inline float WherePositive(float sign, float value) {
  return sign <= 0 ? 0 : value;
}

__device__ inline float Activated(ActivationKind kind, float x) {
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
__device__ inline float ActivationGradient(ActivationKind kind, float y,
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

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ACTIVATION_CUH_
