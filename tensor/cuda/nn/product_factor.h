// The form in which a product reads an array of floats: weights, or a model's
// input.
#ifndef TENSOR_CUDA_NN_PRODUCT_FACTOR_H_
#define TENSOR_CUDA_NN_PRODUCT_FACTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/channel_order.h"

namespace ps {

// The array itself, or a bfloat16 copy that is made anew whenever the array may
// have changed.
class ProductFactor {
 public:
  // Uses the array itself.
  ProductFactor() = default;
  // Uses a copy of `n` elements [..., channels, pixels], with the channels
  // last.
  static absl::StatusOr<ProductFactor> Copied(LayerDevice* device, int64_t n,
                                              int64_t channels = 1,
                                              int64_t pixels = 1);
  // Uses a copy of the weights if the device computes with bfloat16.
  static absl::StatusOr<ProductFactor> Weights(LayerDevice* device, int64_t n,
                                               int64_t channels = 1,
                                               int64_t pixels = 1);

  bool is_copy() const { return copy_.size() > 0; }
  // Whether the copy's order differs from the array's.
  bool reorders() const { return order_.changes(); }

  // Copies the array if this is a copy.
  absl::Status Take(LayerDevice* device, const float* array) const;
  // The factor for this array; call Take with the same array first.
  const void* of(const float* array) const {
    return is_copy() ? static_cast<const void*>(copy_.data()) : array;
  }

  // The copy's memory, for results that have its shape and order.
  Bfloat16* data() const { return copy_.data(); }
  // Converts the copy to floats in the array's order.
  absl::Status ToPlain(LayerDevice* device, float* array) const;

 private:
  ChannelOrder order_;
  DeviceArray<Bfloat16> copy_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_PRODUCT_FACTOR_H_
