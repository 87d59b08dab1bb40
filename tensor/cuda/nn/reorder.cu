#include <cstdint>
#include <memory>
#include <type_traits>

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

// From [..., rows, columns] to [..., columns, rows].
template <typename From, typename To>
absl::Status Transpose(LayerDevice* device, const char* name, int64_t n,
                       int64_t num_rows, int64_t num_columns, const From* from,
                       To* to) {
  const Divisor rows(num_rows), columns(num_columns);
  return LaunchElements(device, name, n, [=] __device__(int64_t i) {
    int64_t row = 0, column = 0;
    const int64_t matrix = columns.Divide(rows.Divide(i, &row), &column);
    to[i] = from[(matrix * rows.value() + row) * columns.value() + column];
  });
}

// Converts activations, with images of bfloat16 in channels-last order, to
// plain floats.
template <typename T>
class CudaReorder final : public UnaryOp {
 public:
  CudaReorder(LayerDevice* device, const Shape& shape)
      : device_(device), output_(ActivationDesc::Plain(shape)) {
    order_.n = output_.num_floats;
    if (shape.size() == 4 && !std::is_same_v<T, float>) {
      order_.channels = shape[1];
      order_.pixels = shape[2] * shape[3];
    }
  }

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    Count();
    return ToPlainOrder(device_, order_, Elements<T>(x), y);
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    Count();
    return ToChannelsLast(device_, order_, dy, Elements<T>(dx));
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
  return Transpose(device, "ChannelsLast", order.n, order.channels,
                   order.pixels, from, to);
}

template <typename T>
absl::Status ToPlainOrder(LayerDevice* device, const ChannelOrder& order,
                          const T* from, float* to) {
  if (!order.changes()) return Convert(device, order.n, from, to);
  return Transpose(device, "PlainOrder", order.n, order.pixels, order.channels,
                   from, to);
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
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaReorder<decltype(element)>>(device(),
                                                            input.shape);
  });
}

}  // namespace ps
