#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename From, typename To>
absl::Status Convert(LayerDevice* device, int64_t n, const From* from, To* to) {
  return LaunchPackets(
      device, "Convert", n, [] __device__(float value) { return value; }, to,
      from);
}

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

template <typename T>
absl::Status ToChannelsLast(LayerDevice* device, const ChannelOrder& order,
                            const float* from, T* to) {
  if (!order.changes()) return Convert(device, order.n, from, to);
  const Divisor channels(order.channels), pixels(order.pixels);
  return LaunchElements(
      device, "ChannelsLast", order.n, [=] __device__(int64_t i) {
        int64_t channel = 0, pixel = 0;
        const int64_t image =
            pixels.Divide(channels.Divide(i, &channel), &pixel);
        to[i] =
            from[(image * channels.value() + channel) * pixels.value() + pixel];
      });
}

template <typename T>
absl::Status ToPlainOrder(LayerDevice* device, const ChannelOrder& order,
                          const T* from, float* to) {
  if (!order.changes()) return Convert(device, order.n, from, to);
  const Divisor channels(order.channels), pixels(order.pixels);
  return LaunchElements(
      device, "PlainOrder", order.n, [=] __device__(int64_t i) {
        int64_t channel = 0, pixel = 0;
        const int64_t image =
            channels.Divide(pixels.Divide(i, &pixel), &channel);
        to[i] =
            from[(image * pixels.value() + pixel) * channels.value() + channel];
      });
}

template absl::Status ToChannelsLast(LayerDevice*, const ChannelOrder&,
                                     const float*, float*);
template absl::Status ToChannelsLast(LayerDevice*, const ChannelOrder&,
                                     const float*, Bfloat16*);
template absl::Status ToPlainOrder(LayerDevice*, const ChannelOrder&,
                                   const float*, float*);
template absl::Status ToPlainOrder(LayerDevice*, const ChannelOrder&,
                                   const Bfloat16*, float*);

absl::StatusOr<ProductFactor> ProductFactor::Copied(LayerDevice* device,
                                                    const ChannelOrder& order) {
  ProductFactor factor;
  factor.order_ = order;
  PS_ASSIGN_OR_RETURN(factor.copy_,
                      DeviceArray<Bfloat16>::Create(device, order.n));
  return factor;
}

absl::StatusOr<ProductFactor> ProductFactor::Weights(
    LayerDevice* device, const ChannelOrder& order) {
  if (device->storage() == Storage::kFloat) return ProductFactor();
  return Copied(device, order);
}

absl::Status ProductFactor::Take(LayerDevice* device,
                                 const float* array) const {
  if (!is_copy()) return absl::OkStatus();
  return ToChannelsLast(device, order_, array, copy_.data());
}

absl::Status ProductFactor::ToPlain(LayerDevice* device, float* array) const {
  return ToPlainOrder<Bfloat16>(device, order_, copy_.data(), array);
}

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanReorder(
    const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaActivation(absl::StrCat("reorder of ", ShapeString(input.shape)),
                          input));
  if (storage == Storage::kFloat) {
    return std::make_unique<CudaCopy>(device(), input);
  }
  return std::make_unique<CudaReorder>(device(), input.shape);
}

}  // namespace ps
