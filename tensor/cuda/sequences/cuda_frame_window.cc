#include "tensor/cuda/sequences/cuda_frame_window.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/cuda/sequences/frame_window_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

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
    FrameWindowCore core;
    core.geometry = geometry_;
    core.x = x;
    core.y = y;
    return device_->Run(core, output_.num_floats);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    FrameWindowGradientCore core;
    core.geometry = geometry_;
    core.dy = dy;
    core.dx = dx;
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
  PS_RETURN_IF_ERROR(CheckPlain(what, input));
  if (input.shape.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs a plain input [steps, batch, features]"));
  }
  if (shape.window < 1 || shape.stride < 1 || shape.before < 0 ||
      shape.before >= shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": needs a window and a stride of at least 1, and fewer "
                     "frames before than the window has"));
  }
  return std::make_unique<CudaFrameWindow>(
      device, shape, input.shape,
      ActivationDesc::Plain({shape.OutputFrames(input.shape[0]), input.shape[1],
                             shape.window * input.shape[2]}));
}

}  // namespace ps
