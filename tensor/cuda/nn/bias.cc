#include "tensor/cuda/nn/bias.h"

#include "tensor/cuda/nn/bias_cores.h"
#include "tensor/cuda/nn/channel_sums.h"

namespace ps {

absl::Status AddBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, ActivationKind function,
                     const float* bias, void* y) {
  return WithElementOf(storage, [&](auto element) {
    AddBiasCore<decltype(element)> core;
    core.map = geometry.map;
    core.function = function;
    core.bias = bias;
    core.y = static_cast<decltype(element)*>(y);
    return device->Run(core, geometry.size());
  });
}

absl::Status SumBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, const void* dy,
                     float* dbias) {
  return WithElementOf(storage, [&](auto element) {
    BiasTerms<decltype(element)> terms;
    terms.dy = static_cast<const decltype(element)*>(dy);
    return SumChannels(device, geometry, terms, FinishBias{dbias});
  });
}

absl::Status SumActivatedBias(LayerDevice* device, Storage storage,
                              const ChannelGeometry& geometry,
                              ActivationKind function, const void* y, void* dy,
                              float* dbias) {
  return WithElementOf(storage, [&](auto element) {
    ActivatedBiasTerms<decltype(element)> terms;
    terms.function = function;
    terms.y = static_cast<const decltype(element)*>(y);
    terms.dy = static_cast<decltype(element)*>(dy);
    return SumChannels(device, geometry, terms, FinishBias{dbias});
  });
}

}  // namespace ps
