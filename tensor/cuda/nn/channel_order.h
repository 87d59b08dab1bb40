// Conversions between plain floats and bfloat16 with the channels last.
#ifndef TENSOR_CUDA_NN_CHANNEL_ORDER_H_
#define TENSOR_CUDA_NN_CHANNEL_ORDER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// An array of n elements: [..., channels, pixels] in plain order, and [...,
// pixels, channels] with the channels last.
struct ChannelOrder {
  int64_t n = 0;
  int64_t channels = 1;
  int64_t pixels = 1;

  // If false, only the type changes.
  bool changes() const { return channels > 1 && pixels > 1; }
};

absl::Status ToChannelsLast(LayerDevice* device, const ChannelOrder& order,
                            const float* plain, Bfloat16* channels_last);
absl::Status ToPlainOrder(LayerDevice* device, const ChannelOrder& order,
                          const Bfloat16* channels_last, float* plain);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CHANNEL_ORDER_H_
