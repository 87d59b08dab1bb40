// Windows over the frames of a sequence; see tensor/sequence_kernels.h.
#ifndef TENSOR_CUDA_SEQUENCES_FRAME_WINDOW_CORES_H_
#define TENSOR_CUDA_SEQUENCES_FRAME_WINDOW_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// The input is [steps, batch, features], the output [out_steps, batch, window,
// features].
struct FrameWindowGeometry {
  int64_t steps;
  int64_t out_steps;
  Divisor batch;
  Divisor window;
  Divisor features;
  Divisor stride;
  int64_t before;
};

// Count: outputs.
template <typename T>
struct FrameWindowCore : ElementCore {
  static constexpr const char* kName = "FrameWindow";
  FrameWindowGeometry geometry;
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const FrameWindowGeometry& g = geometry;
    int64_t feature = 0, frame = 0, example = 0;
    int64_t rest = g.features.Divide(i, &feature);
    rest = g.window.Divide(rest, &frame);
    const int64_t step = g.batch.Divide(rest, &example);
    const int64_t source = step * g.stride.value() - g.before + frame;
    y[i] = source < 0 || source >= g.steps
               ? T(0.0f)
               : x[(source * g.batch.value() + example) * g.features.value() +
                   feature];
  }
};

// Each frame adds up its gradients in the order of its positions in the
// windows. Count: inputs.
template <typename T>
struct FrameWindowGradientCore : ElementCore {
  static constexpr const char* kName = "FrameWindowGradient";
  FrameWindowGeometry geometry;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const FrameWindowGeometry& g = geometry;
    int64_t feature = 0, example = 0;
    const int64_t source =
        g.batch.Divide(g.features.Divide(i, &feature), &example);
    float sum = 0;
    for (int64_t frame = 0; frame < g.window.value(); ++frame) {
      const int64_t start = source + g.before - frame;  // Equals step x stride.
      if (start < 0) break;
      int64_t rest = 0;
      const int64_t step = g.stride.Divide(start, &rest);
      if (rest != 0 || step >= g.out_steps) continue;
      const int64_t window =
          (step * g.batch.value() + example) * g.window.value() + frame;
      sum += dy[window * g.features.value() + feature];
    }
    dx[i] = sum;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_FRAME_WINDOW_CORES_H_
