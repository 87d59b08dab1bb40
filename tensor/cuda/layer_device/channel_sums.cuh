// Two sums over the images and pixels of each channel, in double and in a fixed
// order. First a block adds up a chunk of a channel, or of several adjacent
// ones if the channels are last: each thread adds its elements in their order,
// and the threads' sums are added by halves. Then 32 threads of another block
// add up the chunks of a channel: thread j those with the numbers j, j + 32,
// ..., in this order, and then again by halves.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CHANNEL_SUMS_CUH_
#define TENSOR_CUDA_LAYER_DEVICE_CHANNEL_SUMS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/block.cuh"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// What an element contributes.
struct Term {
  double first;
  double second;
  float update;  // Overwrites the element of the output, if there is one.
};

struct TwoSums {
  double first;
  double second;

  __device__ TwoSums operator+(const TwoSums& other) const {
    return {first + other.first, second + other.second};
  }
};

// Adds the terms of kRows packets, which are `stride` elements of the channel
// apart. All are loaded before one is added or stored.
template <int kRows, int N, typename Terms, typename Values, typename Output,
          size_t... kInputs, typename... Inputs>
__device__ void AddTerms(const ChannelGeometry& g, const Terms& terms,
                         int64_t channel, int64_t e, int64_t stride,
                         const Values (&values)[N], TwoSums (&sums)[N],
                         std::index_sequence<kInputs...>, Output* output,
                         const Inputs*... x) {
  int64_t places[kRows];
  Floats<N> loaded[kRows][sizeof...(Inputs)];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    places[r] = g.Place(channel, e + r * stride);
    ((loaded[r][kInputs] = Floats<N>::Load(x + places[r])), ...);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    Floats<N> updates;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const Term term = terms(values[k], loaded[r][kInputs].values[k]...);
      sums[k] = sums[k] + TwoSums{term.first, term.second};
      updates.values[k] = term.update;
    }
    if constexpr (!std::is_void_v<Output>) updates.Store(output + places[r]);
  }
}

// A block for each tile of each chunk; N: elements of a packet. partial:
// [chunk, channel].
template <int N, typename Of, typename Terms, typename Output,
          typename... Inputs>
__global__ void __launch_bounds__(kBlockThreads)
    SumChunksKernel(const ChannelGeometry g, const Of of, const Terms terms,
                    TwoSums* partial, Output* output, const Inputs*... x) {
  // Packets of each array that a thread loads together: 3 or 4 are then under
  // way, and 2 blocks fit into a multiprocessor's registers.
  constexpr int kRows = 4 / sizeof...(Inputs);
  constexpr std::make_index_sequence<sizeof...(Inputs)> kInputs;
  __shared__ TwoSums shared[N][kBlockThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const bool last = g.map.channels_last();
  // Threads beside each other; each has N channels if the channels are last.
  const int lanes = last ? ChannelGeometry::kTileChannels / N : 1;
  int64_t tile = 0;
  const int64_t chunk = g.tiles.Divide(blockIdx.x, &tile);
  const int64_t channel =
      last ? tile * ChannelGeometry::kTileChannels + thread % lanes * N : tile;
  const int64_t channels = g.map.channels.value();
  TwoSums sums[N] = {};
  if (channel < channels) {
    decltype(of(channel)) values[N];
    for (int k = 0; k < N; ++k) values[k] = of(last ? channel + k : channel);
    const int64_t step = last ? 1 : N;
    const int64_t stride = kBlockThreads / lanes * step;
    const int64_t end = min((chunk + 1) * g.chunk_elements, g.elements);
    int64_t e = chunk * g.chunk_elements + thread / lanes * step;
    for (; e + (kRows - 1) * stride < end; e += kRows * stride) {
      AddTerms<kRows>(g, terms, channel, e, stride, values, sums, kInputs,
                      output, x...);
    }
    for (; e < end; e += stride) {
      AddTerms<1>(g, terms, channel, e, stride, values, sums, kInputs, output,
                  x...);
    }
  }
  // Without channels beside each other there is one sum.
  for (int k = 1; k < N && !last; ++k) sums[0] = sums[0] + sums[k];
  for (int k = 0; k < N; ++k) shared[k][thread] = sums[k];
  const int num_sums = last ? N : 1;
  for (int half = kBlockThreads / 2; half >= lanes; half /= 2) {
    __syncthreads();
    for (int k = 0; k < num_sums && thread < half; ++k) {
      shared[k][thread] = shared[k][thread] + shared[k][thread + half];
    }
  }
  if (thread >= lanes || channel >= channels) return;
  for (int k = 0; k < num_sums; ++k) {
    partial[chunk * channels + channel + k] = shared[k][thread];
  }
}

// Adds up the chunks of 8 channels.
template <typename Finish>
__global__ void __launch_bounds__(kBlockThreads)
    FinishChannelsKernel(int64_t channels, int64_t chunks,
                         const TwoSums* partial, const Finish finish) {
  constexpr int kChannels = 8;                         // Of a block.
  constexpr int kThreads = kBlockThreads / kChannels;  // Of a channel.
  __shared__ TwoSums shared[kBlockThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t channel = int64_t{blockIdx.x} * kChannels + thread % kChannels;
  TwoSums sum = {};
  if (channel < channels) {
#pragma unroll 8
    for (int64_t chunk = thread / kChannels; chunk < chunks;
         chunk += kThreads) {
      sum = sum + partial[chunk * channels + channel];
    }
  }
  shared[thread] = sum;
  CombineHalves(shared, Add(), kChannels);
  if (thread < kChannels && channel < channels) {
    finish(channel, shared[thread].first, shared[thread].second);
  }
}

// Calls finish(channel, first sum, second sum) for each channel, with the sums
// of terms(of(channel), x[i]...), which returns a Term. Where there is an
// output, an array as the inputs (one of which it may be), each element gets
// its update; else `output` is a null pointer to void. Uses
// ChannelSumsScratchBytes of the device's scratch.
template <typename Of, typename Terms, typename Finish, typename Output,
          typename Input, typename... Inputs>
absl::Status SumChannels(LayerDevice* device, const char* name,
                         const ChannelGeometry& geometry, const Of& of,
                         const Terms& terms, const Finish& finish,
                         Output* output, const Input* x,
                         const Inputs*... more) {
  constexpr int N = kPacket<Input>;
  TwoSums* const partial = static_cast<TwoSums*>(device->scratch());
  const int64_t blocks = geometry.chunks * geometry.tiles.value();
  PS_RETURN_IF_ERROR(
      geometry.map.row() % N == 0 && AreAligned(x, more...)
          ? LaunchKernel(
                device, name, blocks,
                SumChunksKernel<N, Of, Terms, Output, Input, Inputs...>,
                geometry, of, terms, partial, output, x, more...)
          : LaunchKernel(
                device, name, blocks,
                SumChunksKernel<1, Of, Terms, Output, Input, Inputs...>,
                geometry, of, terms, partial, output, x, more...));
  return LaunchKernel(device, name, (geometry.channels() + 7) / 8,
                      FinishChannelsKernel<Finish>, geometry.channels(),
                      geometry.chunks, partial, finish);
}

// For sums that need no values of the channels.
struct NoValues {
  __device__ NoValues operator()(int64_t) const { return {}; }
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CHANNEL_SUMS_CUH_
