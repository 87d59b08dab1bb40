#include "tensor/cuda/layer_device/channel_sums.cuh"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/activation.cuh"
#include "tensor/cuda/nn/bias.h"

namespace ps {
namespace {

template <typename T>
absl::Status AddBiasTo(LayerDevice* device, const ChannelGeometry& geometry,
                       ActivationKind function, const float* bias, T* y) {
  return LaunchChannelPackets(
      device, "AddBias", geometry.map, geometry.size(),
      [=] __device__(int64_t channel) { return bias[channel]; },
      [=] __device__(float bias, float y) {
        return Activated(function, y + bias);
      },
      y, y);
}

template <typename T>
absl::Status SumBiasOf(LayerDevice* device, const ChannelGeometry& geometry,
                       const T* dy, float* dbias) {
  return SumChannels(
      device, "SumBias", geometry, NoValues(),
      [=] __device__(NoValues, float dy) {
        return Term{dy, 0, 0};
      },
      [=] __device__(int64_t channel, double sum, double) {
        dbias[channel] = static_cast<float>(sum);
      },
      static_cast<void*>(nullptr), dy);
}

template <typename T>
absl::Status SumActivatedBiasOf(LayerDevice* device,
                                const ChannelGeometry& geometry,
                                ActivationKind function, const T* y, T* dy,
                                float* dbias) {
  return SumChannels(
      device, "SumActivatedBias", geometry, NoValues(),
      [=] __device__(NoValues, float y, float dy) {
        const float gradient = ActivationGradient(function, y, dy);
        return Term{gradient, 0, gradient};
      },
      [=] __device__(int64_t channel, double sum, double) {
        dbias[channel] = static_cast<float>(sum);
      },
      dy, y, dy);
}

}  // namespace

ActivationKind KindOf(Activation function) {
  switch (function) {
    case Activation::kRelu:
      break;
    case Activation::kTanh:
      return ActivationKind::kTanh;
    case Activation::kSigmoid:
      return ActivationKind::kSigmoid;
  }
  return ActivationKind::kRelu;
}

absl::Status AddBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, ActivationKind function,
                     const float* bias, void* y) {
  return WithElementOf(storage, [&](auto element) {
    return AddBiasTo(device, geometry, function, bias,
                     static_cast<decltype(element)*>(y));
  });
}

absl::Status SumBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, const void* dy,
                     float* dbias) {
  return WithElementOf(storage, [&](auto element) {
    return SumBiasOf(device, geometry,
                     static_cast<const decltype(element)*>(dy), dbias);
  });
}

absl::Status SumActivatedBias(LayerDevice* device, Storage storage,
                              const ChannelGeometry& geometry,
                              ActivationKind function, const void* y, void* dy,
                              float* dbias) {
  return WithElementOf(storage, [&](auto element) {
    using T = decltype(element);
    return SumActivatedBiasOf(device, geometry, function,
                              static_cast<const T*>(y), static_cast<T*>(dy),
                              dbias);
  });
}

absl::Status BiasedOp::ReserveBiasScratch() {
  if (!has_bias_) return absl::OkStatus();
  return device_->ReserveScratch(ChannelSumsScratchBytes(geometry_));
}

absl::Status BiasedOp::FinishOutput(const float* bias, float* y) {
  if (!has_bias_) return absl::OkStatus();
  return AddBias(device_, device_->storage(), geometry_, function_, bias, y);
}

absl::Status BiasedOp::SumOutputGradient(const float* dy, float* dbias) {
  if (!has_bias_ || function_ != ActivationKind::kNone) return absl::OkStatus();
  return SumBias(device_, device_->storage(), geometry_, dy, dbias);
}

absl::Status BiasedOp::BackwardActivation(const float* y, float* dy,
                                          float* dbias) {
  if (function_ == ActivationKind::kNone) {
    return AffineOp::BackwardActivation(y, dy, dbias);
  }
  return SumActivatedBias(device_, device_->storage(), geometry_, function_, y,
                          dy, dbias);
}

}  // namespace ps
