#include "tensor/cuda/nn/cuda_adaptive_pooling.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/adaptive_pooling_cores.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaAdaptivePooling final : public UnaryOp {
 public:
  CudaAdaptivePooling(LayerDevice* device, const ActivationDesc& input,
                      int64_t inner, ActivationDesc output)
      : device_(device),
        num_inputs_(NumElements(input.shape)),
        output_(std::move(output)) {
    geometry_.rows = {input.shape[2], output_.shape[2]};
    geometry_.columns = {input.shape[3], output_.shape[3]};
    geometry_.height = Divisor(input.shape[2]);
    geometry_.width = Divisor(input.shape[3]);
    geometry_.out_height = Divisor(output_.shape[2]);
    geometry_.out_width = Divisor(output_.shape[3]);
    geometry_.inner = Divisor(inner);
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    AdaptivePoolCore<T> core;
    core.geometry = geometry_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    AdaptivePoolGradientCore<T> core;
    core.geometry = geometry_;
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  AdaptiveGeometry geometry_;
};

template <typename T>
class CudaGlobalPooling final : public UnaryOp {
 public:
  CudaGlobalPooling(LayerDevice* device, const Shape& input, int64_t inner,
                    ActivationDesc output)
      : device_(device),
        pixels_(input[2] * input[3]),
        inner_(inner),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    if constexpr (std::is_same_v<T, Bfloat16>) {
      ChannelMeanCore<T> core;
      core.channels = Divisor(inner_);
      core.pixels = pixels_;
      core.x = Elements<T>(x);
      core.means = Elements<T>(y);
      return device_->Run(core, num_means());
    } else {
      PlaneMeanCore core;
      core.planes = num_means();
      core.pixels = pixels_;
      core.x = x;
      core.means = y;
      return device_->Run(core, PlaneMeanCore::NumBlocks(core.planes));
    }
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    PlaneMeanGradientCore<T> core;
    core.pixels = Divisor(pixels_);
    core.inner = Divisor(inner_);
    core.share = 1 / static_cast<float>(pixels_);
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_means() * pixels_);
  }

 private:
  int64_t num_means() const { return NumElements(output_.shape); }

  LayerDevice* const device_;  // Not owned.
  const int64_t pixels_;
  const int64_t inner_;  // See pooling_cores.h.
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaAdaptivePooling(
    LayerDevice* device, int64_t out_height, int64_t out_width,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("adaptive pooling of ", ShapeString(input.shape), " to ",
                   out_height, " x ", out_width);
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  if (out_height < 1 || out_width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": both sizes must be at least 1"));
  }
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaAdaptivePooling<decltype(element)>>(
        device, input, InnerExtent(storage, input.shape),
        CudaActivation(
            storage, {input.shape[0], input.shape[1], out_height, out_width}));
  });
}

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaGlobalPooling(
    LayerDevice* device, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaImages(
          absl::StrCat("global pooling of ", ShapeString(input.shape)), input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaGlobalPooling<decltype(element)>>(
        device, input.shape, InnerExtent(storage, input.shape),
        CudaActivation(storage, {input.shape[0], input.shape[1]}));
  });
}

}  // namespace ps
