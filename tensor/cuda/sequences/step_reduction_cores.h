// The last step of a sequence, or the mean over its steps; see
// tensor/sequence_kernels.h.
#ifndef TENSOR_CUDA_SEQUENCES_STEP_REDUCTION_CORES_H_
#define TENSOR_CUDA_SEQUENCES_STEP_REDUCTION_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// The input is [steps, step], the output [step].
struct StepReductionGeometry {
  int64_t steps;
  int64_t step;
  int64_t first;  // Of the steps that count: 0, or the last one.

  PS_HOST_DEVICE float Share() const {
    return 1.0f / static_cast<float>(steps - first);
  }
};

// Count: outputs.
template <typename T>
struct StepReductionCore : ElementCore {
  static constexpr const char* kName = "StepReduction";
  StepReductionGeometry geometry;
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const StepReductionGeometry& g = geometry;
    float sum = x[g.first * g.step + i];
    for (int64_t t = g.first + 1; t < g.steps; ++t) sum += x[t * g.step + i];
    y[i] = sum * g.Share();
  }
};

// Count: outputs.
template <typename T>
struct StepReductionGradientCore : ElementCore {
  static constexpr const char* kName = "StepReductionGradient";
  StepReductionGeometry geometry;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const StepReductionGeometry& g = geometry;
    for (int64_t t = 0; t < g.first; ++t) dx[t * g.step + i] = T(0.0f);
    const T each = static_cast<float>(dy[i]) * g.Share();
    for (int64_t t = g.first; t < g.steps; ++t) dx[t * g.step + i] = each;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_STEP_REDUCTION_CORES_H_
