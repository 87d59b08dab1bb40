#include "tensor/cuda/sequences/cuda_frame_window.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/frame_window_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaFrameWindow final : public UnaryOp {
 public:
  CudaFrameWindow(LayerDevice* device, const FrameWindowShape& shape,
                  const Shape& input, ActivationDesc output)
      : device_(device),
        num_inputs_(NumElements(input)),
        output_(std::move(output)) {
    geometry_.steps = input[0];
    geometry_.out_steps = output_.shape[0];
    geometry_.batch = Divisor(input[1]);
    geometry_.window = Divisor(shape.window);
    geometry_.features = Divisor(input[2]);
    geometry_.stride = Divisor(shape.stride);
    geometry_.before = shape.before;
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    FrameWindowCore<T> core;
    core.geometry = geometry_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    FrameWindowGradientCore<T> core;
    core.geometry = geometry_;
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  FrameWindowGeometry geometry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaFrameWindow(
    LayerDevice* device, const FrameWindowShape& shape,
    const ActivationDesc& input) {
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
        device, shape, input.shape,
        CudaActivation(storage,
                       {shape.OutputFrames(input.shape[0]), input.shape[1],
                        shape.window * input.shape[2]}));
  });
}

}  // namespace ps
