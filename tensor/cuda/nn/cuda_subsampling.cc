#include "tensor/cuda/nn/cuda_subsampling.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/cuda/nn/subsampling_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaSubsampling final : public UnaryOp {
 public:
  CudaSubsampling(LayerDevice* device, int64_t stride, const Shape& input,
                  ActivationDesc output)
      : device_(device),
        num_inputs_(NumElements(input)),
        output_(std::move(output)) {
    const Shape& out = output_.shape;
    geometry_.channels = Divisor(input[1]);
    geometry_.height = Divisor(input[2]);
    geometry_.width = Divisor(input[3]);
    geometry_.out_channels = Divisor(out[1]);
    geometry_.out_height = Divisor(out[2]);
    geometry_.out_width = Divisor(out[3]);
    geometry_.stride = Divisor(stride);
    geometry_.first_channel = (out[1] - input[1]) / 2;
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    SubsampleCore core;
    core.geometry = geometry_;
    core.x = x;
    core.y = y;
    return device_->Run(core, output_.num_floats);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    SubsampleGradientCore core;
    core.geometry = geometry_;
    core.dy = dy;
    core.dx = dx;
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  SubsamplingGeometry geometry_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaSubsampling(
    LayerDevice* device, const SubsamplingShape& shape,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("subsampling of ", ShapeString(input.shape), " by ",
                   shape.stride, " to ", shape.out_channels, " channels");
  PS_RETURN_IF_ERROR(CheckPlainImages(what, input));
  const int64_t added = shape.out_channels - input.shape[1];
  if (shape.stride < 1 || added < 0 || added % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs a stride of at least 1, and an even number of new channels"));
  }
  return std::make_unique<CudaSubsampling>(
      device, shape.stride, input.shape,
      ActivationDesc::Plain({input.shape[0], shape.out_channels,
                             (input.shape[2] - 1) / shape.stride + 1,
                             (input.shape[3] - 1) / shape.stride + 1}));
}

}  // namespace ps
