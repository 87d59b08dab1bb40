// Conversions from plain floats to bfloat16 with the channels last, and back.
// Arrays are [images, channels, pixels] and [images, pixels, channels]. A
// convolution's weights are also such an array: they are [out, in, kernel], and
// the libraries want [out, kernel, in].
#ifndef TENSOR_CUDA_NN_REORDER_CORES_H_
#define TENSOR_CUDA_NN_REORDER_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"

namespace ps {

// The same order in another type.
template <typename From, typename To>
struct ConvertCore : PacketCore {
  static constexpr const char* kName = "Convert";
  const From* from;
  To* to;

  using Inputs = Arrays<&ConvertCore::from>;
  using Output = Arrays<&ConvertCore::to>;
  PS_HOST_DEVICE float operator()(int64_t, int, float value) const {
    return value;
  }
};

// Count: elements.
struct ChannelsLastCore : ElementCore {
  static constexpr const char* kName = "ChannelsLast";
  Divisor channels;
  Divisor pixels;
  const float* from;
  Bfloat16* to;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t channel = 0, pixel = 0;
    const int64_t image = pixels.Divide(channels.Divide(i, &channel), &pixel);
    to[i] = from[(image * channels.value() + channel) * pixels.value() + pixel];
  }
};

// Count: elements.
template <typename T>
struct PlainOrderCore : ElementCore {
  static constexpr const char* kName = "PlainOrder";
  Divisor channels;
  Divisor pixels;
  const T* from;
  float* to;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t channel = 0, pixel = 0;
    const int64_t image = channels.Divide(pixels.Divide(i, &pixel), &channel);
    to[i] = from[(image * pixels.value() + pixel) * channels.value() + channel];
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_REORDER_CORES_H_
