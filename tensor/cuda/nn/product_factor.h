// What a product reads of an array of floats: weights, or the input of a model.
#ifndef TENSOR_CUDA_NN_PRODUCT_FACTOR_H_
#define TENSOR_CUDA_NN_PRODUCT_FACTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// The array itself, or a copy as bfloat16 that is made whenever the array may
// have changed.
class ProductFactor {
 public:
  // The array itself.
  ProductFactor() = default;
  // A copy of `n` elements [..., channels, pixels], the channels last.
  static absl::StatusOr<ProductFactor> Copied(LayerDevice* device, int64_t n,
                                              int64_t channels = 1,
                                              int64_t pixels = 1);
  // A copy of weights if the device computes with bfloat16.
  static absl::StatusOr<ProductFactor> Weights(LayerDevice* device, int64_t n,
                                               int64_t channels = 1,
                                               int64_t pixels = 1);

  bool is_copy() const { return copy_.size() > 0; }
  // Whether the copy has another order than the array.
  bool reorders() const { return channels_ > 1 && pixels_ > 1; }

  // Copies the array if this is a copy.
  absl::Status Take(LayerDevice* device, const float* array) const;
  // After Take of this array.
  const void* of(const float* array) const {
    return is_copy() ? static_cast<const void*>(copy_.data()) : array;
  }

  // For results that have the copy's shape and order.
  Bfloat16* data() const { return copy_.data(); }
  // The copy's elements as floats in the array's order.
  absl::Status ToPlain(LayerDevice* device, float* array) const;

 private:
  int64_t channels_ = 1;
  int64_t pixels_ = 1;
  DeviceArray<Bfloat16> copy_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_PRODUCT_FACTOR_H_
