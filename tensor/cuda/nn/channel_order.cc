#include "tensor/cuda/nn/channel_order.h"

#include "tensor/cuda/nn/reorder_cores.h"

namespace ps {
namespace {

template <typename Core, typename From, typename To>
absl::Status Reorder(LayerDevice* device, const ChannelOrder& order,
                     const From* from, To* to) {
  if (!order.changes()) {
    ConvertCore<From, To> core;
    core.from = from;
    core.to = to;
    return device->Run(core, order.n);
  }
  Core core;
  core.channels = Divisor(order.channels);
  core.pixels = Divisor(order.pixels);
  core.from = from;
  core.to = to;
  return device->Run(core, order.n);
}

}  // namespace

absl::Status ToChannelsLast(LayerDevice* device, const ChannelOrder& order,
                            const float* plain, Bfloat16* channels_last) {
  return Reorder<ChannelsLastCore>(device, order, plain, channels_last);
}

absl::Status ToPlainOrder(LayerDevice* device, const ChannelOrder& order,
                          const Bfloat16* channels_last, float* plain) {
  return Reorder<PlainOrderCore<Bfloat16>>(device, order, channels_last, plain);
}

}  // namespace ps
