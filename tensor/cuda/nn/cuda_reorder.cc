#include "tensor/cuda/nn/cuda_reorder.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/channel_order.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Copies an activation that is already plain.
class CudaCopy final : public UnaryOp {
 public:
  CudaCopy(LayerDevice* device, const ActivationDesc& output)
      : device_(device), output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override { return Copy(x, y); }
  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    return Copy(dy, dx);
  }

 private:
  absl::Status Copy(const float* from, float* to) {
    return device_->Copy(
        from, output_.num_floats * static_cast<int64_t>(sizeof(float)), to);
  }

  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
};

// Converts bfloat16 activations, with images in channels-last order, to plain
// floats.
class CudaReorder final : public UnaryOp {
 public:
  CudaReorder(LayerDevice* device, const Shape& shape)
      : device_(device), output_(ActivationDesc::Plain(shape)) {
    order_.n = output_.num_floats;
    if (shape.size() == 4) {
      order_.channels = shape[1];
      order_.pixels = shape[2] * shape[3];
    }
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    Count();
    return ToPlainOrder(device_, order_, Elements<Bfloat16>(x), y);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    Count();
    return ToChannelsLast(device_, order_, dy, Elements<Bfloat16>(dx));
  }

 private:
  void Count() {
    if (order_.changes()) device_->CountReorder();
  }

  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
  ChannelOrder order_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaReorder(
    LayerDevice* device, const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(absl::StrCat("reorder of ", ShapeString(input.shape)),
                          input));
  if (storage == Storage::kFloat) {
    return std::make_unique<CudaCopy>(device, input);
  }
  return std::make_unique<CudaReorder>(device, input.shape);
}

}  // namespace ps
