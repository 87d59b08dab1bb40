#include "tensor/cuda/nn/cuda_adaptive_pooling.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/adaptive_pooling_cores.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaAdaptivePooling final : public UnaryOp {
 public:
  CudaAdaptivePooling(LayerDevice* device, const ActivationDesc& input,
                      ActivationDesc output)
      : device_(device),
        num_inputs_(input.num_floats),
        output_(std::move(output)) {
    geometry_.rows = {input.shape[2], output_.shape[2]};
    geometry_.columns = {input.shape[3], output_.shape[3]};
    geometry_.height = Divisor(input.shape[2]);
    geometry_.width = Divisor(input.shape[3]);
    geometry_.out_height = Divisor(output_.shape[2]);
    geometry_.out_width = Divisor(output_.shape[3]);
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    AdaptivePoolCore core;
    core.geometry = geometry_;
    core.x = x;
    core.y = y;
    return device_->Run(core, output_.num_floats);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    AdaptivePoolGradientCore core;
    core.geometry = geometry_;
    core.dy = dy;
    core.dx = dx;
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  AdaptiveGeometry geometry_;
};

class CudaGlobalPooling final : public UnaryOp {
 public:
  CudaGlobalPooling(LayerDevice* device, const ActivationDesc& input)
      : device_(device),
        pixels_(input.shape[2] * input.shape[3]),
        output_(ActivationDesc::Plain({input.shape[0], input.shape[1]})) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    PlaneMeanCore core;
    core.planes = output_.num_floats;
    core.pixels = pixels_;
    core.x = x;
    core.means = y;
    return device_->Run(core, PlaneMeanCore::NumBlocks(core.planes));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    PlaneMeanGradientCore core;
    core.pixels = Divisor(pixels_);
    core.share = 1 / static_cast<float>(pixels_);
    core.dy = dy;
    core.dx = dx;
    return device_->Run(core, output_.num_floats * pixels_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t pixels_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaAdaptivePooling(
    LayerDevice* device, int64_t out_height, int64_t out_width,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("adaptive pooling of ", ShapeString(input.shape), " to ",
                   out_height, " x ", out_width);
  PS_RETURN_IF_ERROR(CheckPlainImages(what, input));
  if (out_height < 1 || out_width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": both extents must be at least 1"));
  }
  return std::make_unique<CudaAdaptivePooling>(
      device, input,
      ActivationDesc::Plain(
          {input.shape[0], input.shape[1], out_height, out_width}));
}

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaGlobalPooling(
    LayerDevice* device, const ActivationDesc& input) {
  PS_RETURN_IF_ERROR(CheckPlainImages(
      absl::StrCat("global pooling of ", ShapeString(input.shape)), input));
  return std::make_unique<CudaGlobalPooling>(device, input);
}

}  // namespace ps
