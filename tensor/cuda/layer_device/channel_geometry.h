// Arrays of elements that belong to channels, and how sums over channels are
// divided among the blocks of a kernel.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CHANNEL_GEOMETRY_H_
#define TENSOR_CUDA_LAYER_DEVICE_CHANNEL_GEOMETRY_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/host_device.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/tensor.h"

namespace ps {

// Threads of a block of all kernels of the layers.
inline constexpr int kBlockThreads = 256;

// The channel of each element of an array [..., channels, pixels]. With one
// pixel, adjacent elements belong to adjacent channels.
struct ChannelMap {
  Divisor channels{1};
  Divisor pixels{1};

  PS_HOST_DEVICE bool channels_last() const { return pixels.value() == 1; }
  PS_HOST_DEVICE int64_t Channel(int64_t i) const {
    return channels.Remainder(channels_last() ? i : pixels.Quotient(i));
  }
  // The adjacent elements of one channel, or of all channels. No packet crosses
  // the end of such a row.
  int64_t row() const {
    return channels_last() ? channels.value() : pixels.value();
  }
};

// The number of blocks for packets of N elements, at most `max_blocks`. If
// threads take several packets, and the channels are last, all packets of a
// thread belong to the same channels where that is possible.
inline int64_t ChannelBlocks(const ChannelMap& map, int64_t n, int N,
                             int64_t max_blocks) {
  const int64_t block_elements = int64_t{N} * kBlockThreads;
  const int64_t wanted = (n + block_elements - 1) / block_elements;
  if (wanted <= max_blocks || !map.channels_last()) {
    return std::min(wanted, max_blocks);
  }
  const int64_t channels = map.channels.value();
  const int64_t period = channels / std::gcd(channels, block_elements);
  return period > max_blocks ? max_blocks : max_blocks - max_blocks % period;
}

// [batch, channels, pixels]. An array with the channels last is treated as
// batch x pixels images of one pixel.
struct ChannelGeometry {
  // Adjacent channels that a block sums if the channels are last. They occupy
  // at least 128 adjacent bytes.
  static constexpr int kTileChannels = 64;

  ChannelGeometry() = default;
  ChannelGeometry(int64_t batch, int64_t channels, int64_t pixels)
      : map{Divisor(channels), Divisor(pixels)}, elements(batch * pixels) {
    const bool last = map.channels_last();
    tiles = Divisor(last ? (channels + kTileChannels - 1) / kTileChannels
                         : channels);
    // About 8 blocks for each multiprocessor of the largest devices, and at
    // least 16 elements for each thread.
    constexpr int64_t kBlocks = 1024;
    const int64_t max_chunks = std::max<int64_t>(1, kBlocks / tiles.value());
    chunk_elements =
        std::max<int64_t>((elements + max_chunks - 1) / max_chunks,
                          16 * kBlockThreads / (last ? kTileChannels : 1));
    // Packets do not cross the ends of chunks.
    chunk_elements = (chunk_elements + 3) / 4 * 4;
    chunks = (elements + chunk_elements - 1) / chunk_elements;
  }
  // Of images, or of [batch, channels], stored as activations are
  // (cuda_layout.h).
  ChannelGeometry(Storage storage, const Shape& shape)
      : ChannelGeometry(
            storage == Storage::kBfloat16
                ? ChannelGeometry(NumElements(shape) / shape[1], shape[1], 1)
                : ChannelGeometry(shape[0], shape[1],
                                  NumElements(shape) / (shape[0] * shape[1]))) {
  }

  ChannelMap map;
  Divisor tiles{1};            // Sets of channels, one for a block.
  int64_t elements = 0;        // Elements of a channel.
  int64_t chunk_elements = 1;  // Elements of a channel that one block sums.
  int64_t chunks = 0;

  int64_t channels() const { return map.channels.value(); }
  int64_t size() const { return elements * channels(); }
  // The number of sums that the chunks have: [chunk, channel].
  int64_t num_partial() const { return chunks * channels(); }

  // The position in the array of element e of a channel.
  PS_HOST_DEVICE int64_t Place(int64_t channel, int64_t e) const {
    const int64_t channels = map.channels.value();
    if (map.channels_last()) return e * channels + channel;
    int64_t pixel = 0;
    const int64_t image = map.pixels.Divide(e, &pixel);
    return (image * channels + channel) * map.pixels.value() + pixel;
  }
};

// Scratch that SumChannels uses (channel_sums.cuh).
inline int64_t ChannelSumsScratchBytes(const ChannelGeometry& geometry) {
  return 2 * geometry.num_partial() * static_cast<int64_t>(sizeof(double));
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CHANNEL_GEOMETRY_H_
