#include "tensor/cuda/nn/cuda_pooling.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/pooling_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaMaxPooling final : public UnaryOp {
 public:
  // maxima: as many elements as there are outputs.
  CudaMaxPooling(LayerDevice* device, const PoolingGeometry2d& geometry,
                 int64_t num_inputs, ActivationDesc output,
                 DeviceArray<int32_t> maxima)
      : device_(device),
        geometry_(geometry),
        num_inputs_(num_inputs),
        output_(std::move(output)),
        maxima_(std::move(maxima)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    MaxPoolCore<T> core;
    core.geometry = geometry_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    core.maxima = maxima_.data();
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    MaxPoolGradientCore<T> core;
    core.geometry = geometry_;
    core.dy = Elements<T>(dy);
    core.maxima = maxima_.data();
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const PoolingGeometry2d geometry_;
  const int64_t num_inputs_;
  const ActivationDesc output_;
  const DeviceArray<int32_t> maxima_;
};

template <typename T>
class CudaAveragePooling final : public UnaryOp {
 public:
  CudaAveragePooling(LayerDevice* device, const PoolingGeometry2d& geometry,
                     int64_t num_inputs, ActivationDesc output)
      : device_(device),
        geometry_(geometry),
        share_(1 / static_cast<float>(geometry.rows.window *
                                      geometry.columns.window)),
        num_inputs_(num_inputs),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    AveragePoolCore<T> core;
    core.geometry = geometry_;
    core.share = share_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    AveragePoolGradientCore<T> core;
    core.geometry = geometry_;
    core.share = share_;
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const PoolingGeometry2d geometry_;
  const float share_;
  const int64_t num_inputs_;
  const ActivationDesc output_;
};

WindowGeometry Windows(const PoolingShape& shape, int64_t extent) {
  WindowGeometry windows;
  windows.extent = extent;
  windows.out_extent =
      (extent + 2 * shape.padding - shape.window) / shape.stride + 1;
  windows.window = shape.window;
  windows.stride = shape.stride;
  windows.padding = shape.padding;
  return windows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaPooling(
    LayerDevice* device, const PoolingShape& shape,
    const ActivationDesc& input) {
  const bool is_max = shape.kind == PoolingShape::Kind::kMax;
  const std::string what =
      absl::StrCat(is_max ? "max" : "average", " pooling of ",
                   ShapeString(input.shape), " with windows of ", shape.window,
                   ", stride ", shape.stride, ", padding ", shape.padding);
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  // With more padding, some windows would contain nothing but padding.
  if (shape.window < 1 || shape.stride < 1 || shape.padding < 0 ||
      shape.padding > shape.window / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs window and stride of at least 1, and padding of at least 0 "
        "and at most half the window"));
  }
  const int64_t height = input.shape[2], width = input.shape[3];
  if (height + 2 * shape.padding < shape.window ||
      width + 2 * shape.padding < shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the window is larger than the padded input"));
  }
  if (height * width > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an image has 2^31 pixels or more"));
  }
  PoolingGeometry2d geometry;
  geometry.rows = Windows(shape, height);
  geometry.columns = Windows(shape, width);
  geometry.height = Divisor(height);
  geometry.width = Divisor(width);
  geometry.out_height = Divisor(geometry.rows.out_extent);
  geometry.out_width = Divisor(geometry.columns.out_extent);
  geometry.inner = Divisor(InnerExtent(storage, input.shape));
  const ActivationDesc output = CudaActivation(
      storage, {input.shape[0], input.shape[1], geometry.rows.out_extent,
                geometry.columns.out_extent});
  DeviceArray<int32_t> maxima;
  if (is_max) {
    PS_ASSIGN_OR_RETURN(maxima, DeviceArray<int32_t>::Create(
                                    device, NumElements(output.shape)));
  }
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    using T = decltype(element);
    const int64_t num_inputs = NumElements(input.shape);
    if (!is_max) {
      return std::make_unique<CudaAveragePooling<T>>(device, geometry,
                                                     num_inputs, output);
    }
    return std::make_unique<CudaMaxPooling<T>>(device, geometry, num_inputs,
                                               output, std::move(maxima));
  });
}

}  // namespace ps
