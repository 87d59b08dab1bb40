// Windows over the frames of a sequence, on CUDA.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/gather.cuh"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The input is [steps, batch, features], the output [out_steps, batch, window,
// features].
struct FrameWindow {
  int64_t steps;
  int64_t out_steps;
  Divisor batch;
  Divisor window;
  Divisor features;
  Divisor stride;
  int64_t before;

  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    int64_t feature = 0, frame = 0, example = 0;
    int64_t rest = features.Divide(i, &feature);
    rest = window.Divide(rest, &frame);
    const int64_t step = batch.Divide(rest, &example);
    const int64_t source = step * stride.value() - before + frame;
    if (source < 0 || source >= steps) return 0;
    return x[(source * batch.value() + example) * features.value() + feature];
  }

  // Each frame adds up its gradients in the order of its positions in the
  // windows.
  template <typename T>
  __device__ float InputGradient(int64_t i, const T* dy) const {
    int64_t feature = 0, example = 0;
    const int64_t source = batch.Divide(features.Divide(i, &feature), &example);
    float sum = 0;
    for (int64_t frame = 0; frame < window.value(); ++frame) {
      // Equals step x stride.
      const int64_t start = source + before - frame;
      if (start < 0) break;
      int64_t rest = 0;
      const int64_t step = stride.Divide(start, &rest);
      if (rest != 0 || step >= out_steps) continue;
      const int64_t place =
          (step * batch.value() + example) * window.value() + frame;
      sum += dy[place * features.value() + feature];
    }
    return sum;
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaSequenceKernels::PlanFrameWindow(
    const FrameWindowShape& shape, const ActivationDesc& input) {
  const std::string what = absl::StrCat(
      "windows of ", shape.window, " frames, ", shape.before,
      " before, stride ", shape.stride, ", over ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaSequence(what, input));
  if (shape.window < 1 || shape.stride < 1 || shape.before < 0 ||
      shape.before >= shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": needs a window and a stride of at least 1, and fewer "
                     "frames before than the window has"));
  }
  const Shape& in = input.shape;
  const int64_t out_steps = shape.OutputFrames(in[0]);
  return NewGatherOp(
      device(), storage, "FrameWindow", in,
      {out_steps, in[1], shape.window * in[2]},
      FrameWindow{in[0], out_steps, Divisor(in[1]), Divisor(shape.window),
                  Divisor(in[2]), Divisor(shape.stride), shape.before});
}

}  // namespace ps
