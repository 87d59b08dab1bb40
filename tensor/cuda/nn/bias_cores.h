// Adding the bias of a linear layer or a convolution, and its gradient.
#ifndef TENSOR_CUDA_NN_BIAS_CORES_H_
#define TENSOR_CUDA_NN_BIAS_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/cuda/nn/channel_sum_cores.h"

namespace ps {

// y = function(y + bias of the channel). Count: elements.
template <typename T>
struct AddBiasCore : ChannelPacketCore {
  static constexpr const char* kName = "AddBias";
  ChannelMap map;
  ActivationKind function;
  const float* bias;  // [channels]
  T* y;

  using Inputs = Arrays<&AddBiasCore::y>;
  using Output = Arrays<&AddBiasCore::y>;
  struct Channel {
    float bias;
  };
  PS_HOST_DEVICE Channel OfChannel(int64_t channel) const {
    return {bias[channel]};
  }
  PS_HOST_DEVICE float operator()(const Channel& channel, float y) const {
    return Activated(function, y + channel.bias);
  }
};

// The gradient of the bias, as the first sum.
template <typename T>
struct BiasTerms {
  using Element = T;
  static constexpr const char* kName = "SumBias";
  const T* dy;

  using Inputs = Arrays<&BiasTerms::dy>;
  using Output = Arrays<>;
  struct Channel {};
  PS_HOST_DEVICE Channel OfChannel(int64_t) const { return {}; }
  PS_HOST_DEVICE Term operator()(const Channel&, float dy) const {
    return {dy, 0, 0};
  }
};

// The same where dy is the gradient of y, the value of a function. Replaces dy
// by the gradient of its argument.
template <typename T>
struct ActivatedBiasTerms {
  using Element = T;
  static constexpr const char* kName = "SumActivatedBias";
  ActivationKind function;
  const T* y;
  T* dy;

  using Inputs = Arrays<&ActivatedBiasTerms::y, &ActivatedBiasTerms::dy>;
  using Output = Arrays<&ActivatedBiasTerms::dy>;
  struct Channel {};
  PS_HOST_DEVICE Channel OfChannel(int64_t) const { return {}; }
  PS_HOST_DEVICE Term operator()(const Channel&, float y, float dy) const {
    const float gradient = ActivationGradient(function, y, dy);
    return {gradient, 0, gradient};
  }
};

struct FinishBias {
  static constexpr const char* kName = "FinishBias";
  float* dbias;

  PS_HOST_DEVICE void operator()(int64_t channel, double sum, double) const {
    dbias[channel] = static_cast<float>(sum);
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BIAS_CORES_H_
