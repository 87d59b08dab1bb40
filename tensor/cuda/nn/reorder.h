// Conversions between plain floats and bfloat16 with the channels last, and the
// form in which products read an array of floats: weights, or a model's input.
#ifndef TENSOR_CUDA_NN_REORDER_H_
#define TENSOR_CUDA_NN_REORDER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// An array of n elements: [..., channels, pixels] in plain order, and [...,
// pixels, channels] with the channels last. A convolution's weights are also
// such an array: they are [out, in, kernel], and the libraries want [out,
// kernel, in].
struct ChannelOrder {
  int64_t n = 0;
  int64_t channels = 1;
  int64_t pixels = 1;

  // If false, only the type changes.
  bool changes() const { return channels > 1 && pixels > 1; }
};

// T: float or Bfloat16.
template <typename T>
absl::Status ToChannelsLast(LayerDevice* device, const ChannelOrder& order,
                            const float* plain, T* channels_last);
template <typename T>
absl::Status ToPlainOrder(LayerDevice* device, const ChannelOrder& order,
                          const T* channels_last, float* plain);

// A factor of a product: the array itself, or a bfloat16 copy that is made anew
// whenever the array may have changed.
class ProductFactor {
 public:
  // Uses the array itself.
  ProductFactor() = default;
  // Uses a copy, with the channels last.
  static absl::StatusOr<ProductFactor> Copied(LayerDevice* device,
                                              const ChannelOrder& order);
  // Uses a copy of the weights if the device computes with bfloat16.
  static absl::StatusOr<ProductFactor> Weights(LayerDevice* device,
                                               const ChannelOrder& order);

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

#endif  // TENSOR_CUDA_NN_REORDER_H_
