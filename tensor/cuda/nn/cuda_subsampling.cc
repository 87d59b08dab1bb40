#include "tensor/cuda/nn/cuda_subsampling.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/subsampling_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaSubsampling final : public UnaryOp {
 public:
  CudaSubsampling(LayerDevice* device, const SubsamplingGeometry& geometry,
                  int64_t num_inputs, ActivationDesc output)
      : device_(device),
        geometry_(geometry),
        num_inputs_(num_inputs),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    SubsampleCore<T> core;
    core.geometry = geometry_;
    core.x = Elements<T>(x);
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    SubsampleGradientCore<T> core;
    core.geometry = geometry_;
    core.dy = Elements<T>(dy);
    core.dx = Elements<T>(dx);
    return device_->Run(core, num_inputs_);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const SubsamplingGeometry geometry_;
  const int64_t num_inputs_;
  const ActivationDesc output_;
};

ImageArray ArrayOf(Storage storage, const Shape& shape) {
  ImageArray array;
  array.channels_last = storage == Storage::kBfloat16;
  array.channels = Divisor(shape[1]);
  array.height = Divisor(shape[2]);
  array.width = Divisor(shape[3]);
  return array;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaSubsampling(
    LayerDevice* device, const SubsamplingShape& shape,
    const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("subsampling of ", ShapeString(input.shape), " by ",
                   shape.stride, " to ", shape.out_channels, " channels");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  const int64_t added = shape.out_channels - input.shape[1];
  if (shape.stride < 1 || added < 0 || added % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs a stride of at least 1, and an even number of new channels"));
  }
  const ActivationDesc output =
      CudaActivation(storage, {input.shape[0], shape.out_channels,
                               (input.shape[2] - 1) / shape.stride + 1,
                               (input.shape[3] - 1) / shape.stride + 1});
  SubsamplingGeometry geometry;
  geometry.input = ArrayOf(storage, input.shape);
  geometry.output = ArrayOf(storage, output.shape);
  geometry.stride = Divisor(shape.stride);
  geometry.first_channel = added / 2;
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaSubsampling<decltype(element)>>(
        device, geometry, NumElements(input.shape), output);
  });
}

}  // namespace ps
