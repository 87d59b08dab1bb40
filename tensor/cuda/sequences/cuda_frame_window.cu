// Windows over the frames of a sequence, on CUDA.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

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

template <typename T>
class CudaFrameWindow final : public UnaryOp {
 public:
  CudaFrameWindow(LayerDevice* device, const FrameWindowShape& shape,
                  const Shape& input, ActivationDesc output)
      : device_(device),
        num_inputs_(NumElements(input)),
        output_(std::move(output)),
        geometry_{input[0],          output_.shape[0],
                  Divisor(input[1]), Divisor(shape.window),
                  Divisor(input[2]), Divisor(shape.stride),
                  shape.before} {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* memory, float* result) override {
    const FrameWindowGeometry g = geometry_;
    const T* const x = Elements<T>(memory);
    T* const y = Elements<T>(result);
    return LaunchElements(
        device_, "FrameWindow", NumElements(output_.shape),
        [=] __device__(int64_t i) {
          int64_t feature = 0, frame = 0, example = 0;
          int64_t rest = g.features.Divide(i, &feature);
          rest = g.window.Divide(rest, &frame);
          const int64_t step = g.batch.Divide(rest, &example);
          const int64_t source = step * g.stride.value() - g.before + frame;
          y[i] = source < 0 || source >= g.steps
                     ? T(0.0f)
                     : x[(source * g.batch.value() + example) *
                             g.features.value() +
                         feature];
        });
  }

  // Each frame adds up its gradients in the order of its positions in the
  // windows.
  absl::Status Backward(const float*, const float*, const float* gradient,
                        float* result) override {
    const FrameWindowGeometry g = geometry_;
    const T* const dy = Elements<T>(gradient);
    T* const dx = Elements<T>(result);
    return LaunchElements(
        device_, "FrameWindowGradient", num_inputs_, [=] __device__(int64_t i) {
          int64_t feature = 0, example = 0;
          const int64_t source =
              g.batch.Divide(g.features.Divide(i, &feature), &example);
          float sum = 0;
          for (int64_t frame = 0; frame < g.window.value(); ++frame) {
            // Equals step x stride.
            const int64_t start = source + g.before - frame;
            if (start < 0) break;
            int64_t rest = 0;
            const int64_t step = g.stride.Divide(start, &rest);
            if (rest != 0 || step >= g.out_steps) continue;
            const int64_t window =
                (step * g.batch.value() + example) * g.window.value() + frame;
            sum += dy[window * g.features.value() + feature];
          }
          dx[i] = sum;
        });
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  const FrameWindowGeometry geometry_;
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
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaFrameWindow<decltype(element)>>(
        device(), shape, input.shape,
        CudaActivation(storage,
                       {shape.OutputFrames(input.shape[0]), input.shape[1],
                        shape.window * input.shape[2]}));
  });
}

}  // namespace ps
