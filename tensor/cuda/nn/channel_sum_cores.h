// Sums over the images and pixels of each channel, as doubles: first a block
// for each chunk of a channel, then one thread for each channel adds up its
// chunks in their order.
#ifndef TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_
#define TENSOR_CUDA_NN_CHANNEL_SUM_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// Plain [batch, channels, pixels].
struct ChannelGeometry {
  // Of a channel, for one block: enough for all threads to be busy, and few
  // enough for one channel to occupy many blocks.
  static constexpr int64_t kChunkElements = 16 * kBlockThreads;

  ChannelGeometry() = default;
  ChannelGeometry(int64_t batch, int64_t channels, int64_t pixels)
      : channels(channels), pixels(pixels), elements(batch * pixels) {}

  Divisor channels;
  Divisor pixels;
  int64_t elements = 0;  // Of a channel.

  int64_t num_chunks() const {
    return (elements + kChunkElements - 1) / kChunkElements;
  }
  // Blocks of a ChannelSumsCore, and sums that it writes: [chunk, channel].
  int64_t num_partial() const { return num_chunks() * channels.value(); }
  int64_t size() const { return elements * channels.value(); }

  // Of element e of a channel.
  PS_HOST_DEVICE int64_t Place(int64_t channel, int64_t e) const {
    int64_t pixel = 0;
    const int64_t image = pixels.Divide(e, &pixel);
    return (image * channels.value() + channel) * pixels.value() + pixel;
  }
  // Of an element of the array.
  PS_HOST_DEVICE int64_t Channel(int64_t i) const {
    return channels.Remainder(pixels.Quotient(i));
  }
  // The sum of a channel's chunks.
  PS_HOST_DEVICE double Total(const double* partial, int64_t channel) const {
    double sum = 0;
    for (int64_t begin = 0; begin < elements; begin += kChunkElements) {
      sum += partial[begin / kChunkElements * channels.value() + channel];
    }
    return sum;
  }
};

struct PairOfSums {
  double first;
  double second;
};

// Two sums of each chunk; Terms has
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
      const int64_t begin = geometry.channels.Divide(block, &channel) *
                            ChannelGeometry::kChunkElements;
      const int64_t end =
          Smaller(begin + ChannelGeometry::kChunkElements, geometry.elements);
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

// The gradient of a convolution's bias, as the first sum.
struct BiasTerms {
  static constexpr const char* kName = "SumChannels";
  const float* dy;

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
