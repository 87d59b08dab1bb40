// Sums over the images and pixels of each channel, in double. First a block
// sums each chunk of a channel; then one thread per channel adds up its chunks
// in their order.
#ifndef TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_
#define TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// Plain [batch, channels, pixels]. An array with the channels last is treated
// as batch x pixels images of one pixel.
struct ChannelGeometry {
  ChannelGeometry() = default;
  static ChannelGeometry Plain(int64_t batch, int64_t channels,
                               int64_t pixels) {
    ChannelGeometry g;
    g.channels = Divisor(channels);
    g.pixels = Divisor(pixels);
    g.elements = batch * pixels;
    // Enough elements to keep all threads busy, and few enough for one channel
    // to occupy many blocks.
    g.chunk_elements = 16 * kBlockThreads;
    return g;
  }
  static ChannelGeometry ChannelsLast(int64_t rows, int64_t channels) {
    ChannelGeometry g = Plain(rows, channels, 1);
    // A block covers many channels, so there are more chunks, but only as many
    // as one thread can add up quickly.
    constexpr int64_t kMaxChunks = 1024;
    g.chunk_elements =
        Larger<int64_t>(kBlockThreads, (rows + kMaxChunks - 1) / kMaxChunks);
    return g;
  }

  Divisor channels;
  Divisor pixels;
  int64_t elements = 0;        // Elements of a channel.
  int64_t chunk_elements = 1;  // Elements of a channel that one block sums.

  int64_t num_chunks() const {
    return (elements + chunk_elements - 1) / chunk_elements;
  }
  // Number of sums that a core writes: [chunk, channel].
  int64_t num_partial() const { return num_chunks() * channels.value(); }
  int64_t size() const { return elements * channels.value(); }

  // The position in the array of element e of a channel.
  PS_HOST_DEVICE int64_t Place(int64_t channel, int64_t e) const {
    int64_t pixel = 0;
    const int64_t image = pixels.Divide(e, &pixel);
    return (image * channels.value() + channel) * pixels.value() + pixel;
  }
  // The channel of element i of the array.
  PS_HOST_DEVICE int64_t Channel(int64_t i) const {
    return channels.Remainder(pixels.Quotient(i));
  }
  // The sum over a channel's chunks.
  PS_HOST_DEVICE double Total(const double* partial, int64_t channel) const {
    const double* partial_of_chunk = partial + channel;
    double sum = 0;
    for (int64_t begin = 0; begin < elements; begin += chunk_elements) {
      sum += *partial_of_chunk;
      partial_of_chunk += channels.value();
    }
    return sum;
  }
};

struct PairOfSums {
  double first;
  double second;
};

// Computes two sums for each chunk. Terms has
//   using Element = ...;  // Of the arrays.
//   PairOfSums operator()(int64_t channel, int64_t place) const;
// which is called once for each element. Count: geometry.num_partial().
template <typename Terms>
struct ChannelSumsCore : BlockCore {
  static constexpr const char* kName = Terms::kName;
  static constexpr int kPhases = kBlockThreadsLog2 + 2;
  struct Shared {
    double first[kBlockThreads];
    double second[kBlockThreads];
  };
  ChannelGeometry geometry;
  Terms terms;
  double* first;  // [chunks, channels]
  double* second;

  PS_HOST_DEVICE void operator()(int phase, int64_t block, int thread,
                                 Shared* shared) const {
    if (phase == 0) {
      int64_t channel = 0;
      const int64_t begin =
          geometry.channels.Divide(block, &channel) * geometry.chunk_elements;
      const int64_t end =
          Smaller(begin + geometry.chunk_elements, geometry.elements);
      PairOfSums sums = {0, 0};
      for (int64_t e = begin + thread; e < end; e += kBlockThreads) {
        const PairOfSums term = terms(channel, geometry.Place(channel, e));
        sums.first += term.first;
        sums.second += term.second;
      }
      shared->first[thread] = sums.first;
      shared->second[thread] = sums.second;
    } else if (phase <= kBlockThreadsLog2) {
      AddHalves(phase - 1, thread, shared->first);
      AddHalves(phase - 1, thread, shared->second);
    } else if (thread == 0) {
      first[block] = shared->first[0];
      second[block] = shared->second[0];
    }
  }
};

// The same with the channels last: adjacent threads read adjacent channels.
// Count: NumBlocks(geometry).
template <typename Terms>
struct LastChannelSumsCore : BlockCore {
  static constexpr const char* kName = Terms::kName;
  static constexpr int kLanes = 32;  // Channels per block.
  static constexpr int kGroups = kBlockThreads / kLanes;
  static constexpr int kGroupsLog2 = kBlockThreadsLog2 - 5;
  static_assert(1 << kGroupsLog2 == kGroups);
  static constexpr int kPhases = kGroupsLog2 + 2;
  struct Shared {
    double first[kBlockThreads];  // [group, lane]
    double second[kBlockThreads];
  };
  ChannelGeometry geometry;  // pixels is 1.
  Divisor tiles;             // NumTiles(geometry)
  Terms terms;
  double* first;  // [chunks, channels]
  double* second;

  static int64_t NumTiles(const ChannelGeometry& g) {
    return (g.channels.value() + kLanes - 1) / kLanes;
  }
  static int64_t NumBlocks(const ChannelGeometry& g) {
    return g.num_chunks() * NumTiles(g);
  }

  PS_HOST_DEVICE void operator()(int phase, int64_t block, int thread,
                                 Shared* shared) const {
    const int64_t channels = geometry.channels.value();
    int64_t tile = 0;
    const int64_t chunk = tiles.Divide(block, &tile);
    const int64_t channel = tile * kLanes + thread % kLanes;
    if (phase == 0) {
      PairOfSums sums = {0, 0};
      if (channel < channels) {
        const int64_t begin = chunk * geometry.chunk_elements;
        const int64_t end =
            Smaller(begin + geometry.chunk_elements, geometry.elements);
        for (int64_t e = begin + thread / kLanes; e < end; e += kGroups) {
          const PairOfSums term = terms(channel, e * channels + channel);
          sums.first += term.first;
          sums.second += term.second;
        }
      }
      shared->first[thread] = sums.first;
      shared->second[thread] = sums.second;
    } else if (phase <= kGroupsLog2) {
      // AddHalves for all lanes at once: the groups hold a lane's values.
      AddHalves(phase - 1, thread, shared->first);
      AddHalves(phase - 1, thread, shared->second);
    } else if (thread < kLanes && channel < channels) {
      first[chunk * channels + channel] = shared->first[thread];
      second[chunk * channels + channel] = shared->second[thread];
    }
  }
};

// The gradient of a convolution's bias, as the first sum.
template <typename T>
struct BiasTerms {
  using Element = T;
  static constexpr const char* kName = "SumChannels";
  const T* dy;

  PS_HOST_DEVICE PairOfSums operator()(int64_t, int64_t place) const {
    return {dy[place], 0};
  }
};

// Count: channels.
struct FinishBiasCore : ElementCore {
  static constexpr const char* kName = "FinishBias";
  ChannelGeometry geometry;
  const double* partial;
  float* dbias;

  PS_HOST_DEVICE void operator()(int64_t channel) const {
    dbias[channel] = static_cast<float>(geometry.Total(partial, channel));
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_
