// Two sums over the images and pixels of each channel, in double and in a fixed
// order. First a block adds up a chunk of a channel, or of several adjacent
// ones if the channels are last: each thread adds its elements in their order,
// and the threads' sums are added by halves. Then 32 threads of another block
// add up the chunks of a channel: thread j those with the numbers j, j + 32,
// ..., in this order, and then again by halves.
#ifndef TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_
#define TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_

#include <cstdint>
#include <type_traits>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"

namespace ps {

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
    const int64_t max_chunks = Larger<int64_t>(1, kBlocks / tiles.value());
    chunk_elements =
        Larger<int64_t>((elements + max_chunks - 1) / max_chunks,
                        16 * kBlockThreads / (last ? kTileChannels : 1));
    // Packets do not cross the ends of chunks.
    chunk_elements = (chunk_elements + 3) / 4 * 4;
    chunks = (elements + chunk_elements - 1) / chunk_elements;
  }

  ChannelMap map;
  Divisor tiles{1};            // Sets of channels, one for a block.
  int64_t elements = 0;        // Elements of a channel.
  int64_t chunk_elements = 1;  // Elements of a channel that one block sums.
  int64_t chunks = 0;

  int64_t channels() const { return map.channels.value(); }
  int64_t size() const { return elements * channels(); }
  // Number of sums that a core writes: [chunk, channel].
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

// What an element contributes.
struct Term {
  double first;
  double second;
  float update;  // Overwrites the element of the output, if there is one.
};

// Computes the sums of each chunk. Terms has
//   using Element = ...;  // Of the arrays.
//   using Inputs = Arrays<...>, Output = Arrays<...>;  // packet_core.h
//   struct Channel;
//   Channel OfChannel(int64_t channel) const;
//   Term operator()(const Channel& channel, float a, float b) const;
// N: elements of a packet (TakesPackets). Count: NumBlocks(geometry).
template <typename Terms, int N>
struct ChannelSumsCore : BlockCore {
  static constexpr const char* kName = Terms::kName;
  static constexpr int kPhases = kBlockThreadsLog2 + 2;
  // Rows that a thread loads together: 4 packets or more are then under way,
  // and 2 blocks fit into a multiprocessor's registers.
  static constexpr int kUnroll = Terms::Inputs::kSize == 1 ? 4 : 2;
  struct Shared {
    double first[N][kBlockThreads];
    double second[N][kBlockThreads];
  };
  ChannelGeometry geometry;
  Terms terms;
  double* first;  // [chunks, channels]
  double* second;

  static int64_t NumBlocks(const ChannelGeometry& g) {
    return g.chunks * g.tiles.value();
  }

  PS_HOST_DEVICE void operator()(int phase, int64_t block, int thread,
                                 Shared* shared) const {
    const bool last = geometry.map.channels_last();
    // Threads beside each other; each has N channels if the channels are last.
    const int lanes = last ? ChannelGeometry::kTileChannels / N : 1;
    const int sums = last ? N : 1;
    int64_t tile = 0;
    const int64_t chunk = geometry.tiles.Divide(block, &tile);
    const int64_t channel =
        last ? tile * ChannelGeometry::kTileChannels + thread % lanes * N
             : tile;
    if (phase == 0) {
      double first_sums[N] = {};
      double second_sums[N] = {};
      if (channel < geometry.map.channels.value()) {
        const int64_t step = last ? 1 : N;
        const int64_t begin =
            chunk * geometry.chunk_elements + thread / lanes * step;
        const int64_t end =
            Smaller((chunk + 1) * geometry.chunk_elements, geometry.elements);
        Sum(channel, begin, end, kBlockThreads / lanes * step, first_sums,
            second_sums);
      }
      for (int k = 1; k < N && !last; ++k) {
        first_sums[0] += first_sums[k];
        second_sums[0] += second_sums[k];
      }
      for (int k = 0; k < N; ++k) {
        shared->first[k][thread] = first_sums[k];
        shared->second[k][thread] = second_sums[k];
      }
    } else if (phase <= kBlockThreadsLog2) {
      if (kBlockThreads >> phase < lanes) return;
      for (int k = 0; k < sums; ++k) {
        AddHalves(phase - 1, thread, shared->first[k]);
        AddHalves(phase - 1, thread, shared->second[k]);
      }
    } else if (thread < lanes && channel < geometry.map.channels.value()) {
      const int64_t place = chunk * geometry.map.channels.value() + channel;
      for (int k = 0; k < sums; ++k) {
        first[place + k] = shared->first[k][thread];
        second[place + k] = shared->second[k][thread];
      }
    }
  }

 private:
  using Channel = typename Terms::Channel;

  PS_HOST_DEVICE void Sum(int64_t channel, int64_t begin, int64_t end,
                          int64_t stride, double (&first_sums)[N],
                          double (&second_sums)[N]) const {
    Channel channels[N];
    for (int k = 0; k < N; ++k) {
      channels[k] =
          terms.OfChannel(geometry.map.channels_last() ? channel + k : channel);
    }
    int64_t e = begin;
    for (; e + (kUnroll - 1) * stride < end; e += kUnroll * stride) {
      Add<kUnroll>(channel, e, stride, channels, first_sums, second_sums);
    }
    for (; e < end; e += stride) {
      Add<1>(channel, e, stride, channels, first_sums, second_sums);
    }
  }

  template <int kPackets>
  PS_HOST_DEVICE void Add(int64_t channel, int64_t e, int64_t stride,
                          const Channel (&channels)[N], double (&first_sums)[N],
                          double (&second_sums)[N]) const {
    int64_t places[kPackets];
    for (int p = 0; p < kPackets; ++p) {
      places[p] = geometry.Place(channel, e + p * stride);
    }
    Packets<N, typename Terms::Inputs> inputs[kPackets];
    for (int p = 0; p < kPackets; ++p) inputs[p].Load(terms, places[p]);
    for (int p = 0; p < kPackets; ++p) {
      float updates[N];
      for (int k = 0; k < N; ++k) {
        const Term term = inputs[p].Call(terms, k, channels[k]);
        first_sums[k] += term.first;
        second_sums[k] += term.second;
        updates[k] = term.update;
      }
      StoreOutput(terms, places[p], updates, typename Terms::Output());
    }
  }
};

// Adds up the chunks of a channel, and calls
//   void Finish::operator()(int64_t channel, double first, double second)
//   const;
// once for each. Count: NumBlocks(geometry).
template <typename Finish>
struct FinishChannelsCore : BlockCore {
  static constexpr const char* kName = Finish::kName;
  static constexpr int kChannels = 8;                         // Of a block.
  static constexpr int kThreads = kBlockThreads / kChannels;  // Of a channel.
  static constexpr int kLevels = 5;
  static_assert(1 << kLevels == kThreads);
  static constexpr int kPhases = kLevels + 2;
  static constexpr int kUnroll = 8;
  struct Shared {
    double first[kBlockThreads];  // [thread of a channel, channel]
    double second[kBlockThreads];
  };
  int64_t channels;
  int64_t chunks;
  const double* first;  // [chunks, channels]
  const double* second;
  Finish finish;

  static int64_t NumBlocks(const ChannelGeometry& g) {
    return (g.channels() + kChannels - 1) / kChannels;
  }

  PS_HOST_DEVICE void operator()(int phase, int64_t block, int thread,
                                 Shared* shared) const {
    const int64_t channel = block * kChannels + thread % kChannels;
    if (phase == 0) {
      double first_sum = 0;
      double second_sum = 0;
      if (channel < channels) {
        int64_t chunk = thread / kChannels;
        for (; chunk + (kUnroll - 1) * kThreads < chunks;
             chunk += kUnroll * kThreads) {
          Add<kUnroll>(channel, chunk, &first_sum, &second_sum);
        }
        for (; chunk < chunks; chunk += kThreads) {
          Add<1>(channel, chunk, &first_sum, &second_sum);
        }
      }
      shared->first[thread] = first_sum;
      shared->second[thread] = second_sum;
    } else if (phase <= kLevels) {
      AddHalves(phase - 1, thread, shared->first);
      AddHalves(phase - 1, thread, shared->second);
    } else if (thread < kChannels && channel < channels) {
      finish(channel, shared->first[thread], shared->second[thread]);
    }
  }

 private:
  template <int kCount>
  PS_HOST_DEVICE void Add(int64_t channel, int64_t chunk, double* first_sum,
                          double* second_sum) const {
    double first_values[kCount];
    double second_values[kCount];
    for (int i = 0; i < kCount; ++i) {
      const int64_t place = (chunk + i * kThreads) * channels + channel;
      first_values[i] = first[place];
      second_values[i] = second[place];
    }
    for (int i = 0; i < kCount; ++i) {
      *first_sum += first_values[i];
      *second_sum += second_values[i];
    }
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_
