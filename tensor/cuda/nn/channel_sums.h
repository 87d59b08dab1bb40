// Runs sums over channels on a device (channel_sum_cores.h).
#ifndef TENSOR_CUDA_NN_CHANNEL_SUMS_H_
#define TENSOR_CUDA_NN_CHANNEL_SUMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/channel_sum_cores.h"
#include "tensor/tensor.h"

namespace ps {

// The geometry of images, or of [batch, channels].
inline ChannelGeometry ChannelGeometryOf(Storage storage, const Shape& shape) {
  const int64_t pixels = NumElements(shape) / (shape[0] * shape[1]);
  return storage == Storage::kBfloat16
             ? ChannelGeometry(shape[0] * pixels, shape[1], 1)
             : ChannelGeometry(shape[0], shape[1], pixels);
}

// Scratch that SumChannels uses.
inline int64_t ChannelSumsScratchBytes(const ChannelGeometry& geometry) {
  return 2 * geometry.num_partial() * static_cast<int64_t>(sizeof(double));
}

// Calls finish(channel, first sum, second sum) on the device for each channel.
template <typename Terms, typename Finish>
absl::Status SumChannels(LayerDevice* device, const ChannelGeometry& geometry,
                         const Terms& terms, const Finish& finish) {
  double* const first = static_cast<double*>(device->scratch());
  double* const second = first + geometry.num_partial();
  const auto sum = [&](auto core) {
    core.geometry = geometry;
    core.terms = terms;
    core.first = first;
    core.second = second;
    return device->Run(core, core.NumBlocks(geometry));
  };
  constexpr int kPacket = 16 / sizeof(typename Terms::Element);
  const bool takes_packets =
      geometry.map.row() % kPacket == 0 &&
      Packets<1, typename Terms::Inputs>::AreAligned(terms);
  PS_RETURN_IF_ERROR(takes_packets ? sum(ChannelSumsCore<Terms, kPacket>())
                                   : sum(ChannelSumsCore<Terms, 1>()));
  FinishChannelsCore<Finish> core;
  core.channels = geometry.channels();
  core.chunks = geometry.chunks;
  core.first = first;
  core.second = second;
  core.finish = finish;
  return device->Run(core, core.NumBlocks(geometry));
}

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CHANNEL_SUMS_H_
