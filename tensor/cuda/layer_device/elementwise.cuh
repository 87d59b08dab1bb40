// Launchers of kernels that compute arrays element by element. What is computed
// is a __device__ lambda, which captures pointers and extents by value. All
// launchers queue their kernel on the device's stream; an error names the
// kernel.
#ifndef TENSOR_CUDA_LAYER_DEVICE_ELEMENTWISE_CUH_
#define TENSOR_CUDA_LAYER_DEVICE_ELEMENTWISE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// Launches `kernel` with this number of blocks of kBlockThreads threads; none
// if the number is 0.
template <typename... Parameters, typename... Arguments>
absl::Status LaunchKernel(LayerDevice* device, const char* name, int64_t blocks,
                          void (*kernel)(Parameters...),
                          const Arguments&... arguments) {
  if (blocks < 1) return absl::OkStatus();
  PS_RETURN_IF_ERROR(device->MakeCurrent());
  kernel<<<static_cast<unsigned>(blocks), kBlockThreads, 0, device->stream()>>>(
      arguments...);
  return device->LaunchStatus(name);
}

// The number of blocks with a thread for each of n items.
inline int64_t BlocksFor(int64_t n) {
  return (n + kBlockThreads - 1) / kBlockThreads;
}

// The number of this thread in the grid.
__device__ inline int64_t GridThread() {
  return int64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
}

template <typename Function>
__global__ void __launch_bounds__(kBlockThreads)
    ElementsKernel(int64_t n, const Function f) {
  const int64_t i = GridThread();
  if (i < n) f(i);
}

// Calls f(i) for each i in [0, n), by threads in any order.
template <typename Function>
absl::Status LaunchElements(LayerDevice* device, const char* name, int64_t n,
                            const Function& f) {
  return LaunchKernel(device, name, BlocksFor(n), ElementsKernel<Function>, n,
                      f);
}

// A packet of N adjacent elements of an array: an instruction loads or stores
// up to 16 bytes of it.
template <int N, typename T>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Packet {
  T elements[N];
};

// The elements of a packet of output.
template <typename T>
inline constexpr int kPacket = 16 / sizeof(T);

// A packet as floats.
template <int N>
struct Floats {
  float values[N];

  template <typename T>
  __device__ static Floats Load(const T* from) {
    const Packet<N, T> packet = *reinterpret_cast<const Packet<N, T>*>(from);
    Floats floats;
    for (int k = 0; k < N; ++k) floats.values[k] = packet.elements[k];
    return floats;
  }
  template <typename T>
  __device__ void Store(T* to) const {
    Packet<N, T> packet;
    for (int k = 0; k < N; ++k) packet.elements[k] = values[k];
    *reinterpret_cast<Packet<N, T>*>(to) = packet;
  }
};

// Whether packets of these arrays can be loaded.
template <typename... Ts>
bool AreAligned(const Ts*... arrays) {
  return ((reinterpret_cast<uintptr_t>(arrays) % 16 == 0) && ...);
}

template <int N, typename Function, typename Output, typename... Inputs>
__device__ void ComputePacket(int64_t first, const Function& f, Output* y,
                              const Inputs&... x) {
  Floats<N> result;
#pragma unroll
  for (int k = 0; k < N; ++k) result.values[k] = f(first, k, x.values[k]...);
  result.Store(y + first);
}

// A thread for each packet, and for each element that fills none.
template <int N, typename Function, typename Output, typename... Inputs>
__global__ void __launch_bounds__(kBlockThreads)
    PacketsKernel(int64_t n, const Function f, Output* y, const Inputs*... x) {
  const int64_t packet = GridThread();
  const int64_t packets = n / N;
  if (packet < packets) {
    ComputePacket<N>(packet * N, f, y, Floats<N>::Load(x + packet * N)...);
  } else if (const int64_t i = packet - packets + packets * N; i < n) {
    ComputePacket<1>(i, f, y, Floats<1>::Load(x + i)...);
  }
}

// Computes y[first + k] = f(first, k, x[first + k]...) for n elements, where
// `first` is the same for all elements of a packet, whose length is a power of
// 2. y may be one of the inputs. Each array begins anywhere; packets are used
// if all are aligned.
template <typename Function, typename Output, typename... Inputs>
absl::Status LaunchPlacedPackets(LayerDevice* device, const char* name,
                                 int64_t n, const Function& f, Output* y,
                                 const Inputs*... x) {
  constexpr int N = kPacket<Output>;
  return AreAligned(y, x...)
             ? LaunchKernel(device, name, BlocksFor(n / N + n % N),
                            PacketsKernel<N, Function, Output, Inputs...>, n, f,
                            y, x...)
             : LaunchKernel(device, name, BlocksFor(n),
                            PacketsKernel<1, Function, Output, Inputs...>, n, f,
                            y, x...);
}

// A function that does not depend on the place of its elements.
template <typename Function>
struct PlacedFunction {
  Function f;

  template <typename... Values>
  __device__ float operator()(int64_t, int, Values... x) const {
    return f(x...);
  }
};

// The same for y[i] = f(x[i]...).
template <typename Function, typename Output, typename... Inputs>
absl::Status LaunchPackets(LayerDevice* device, const char* name, int64_t n,
                           const Function& f, Output* y, const Inputs*... x) {
  return LaunchPlacedPackets(device, name, n, PlacedFunction<Function>{f}, y,
                             x...);
}

// Threads take several packets, and load the values of their channels only when
// these change.
template <int N, typename Of, typename Function, typename Output,
          typename... Inputs>
__global__ void __launch_bounds__(kBlockThreads)
    ChannelPacketsKernel(const ChannelMap map, int64_t n, const Of of,
                         const Function f, Output* y, const Inputs*... x) {
  using Values = decltype(of(int64_t{}));
  Values channels[N];
  int64_t held = -1;
  const int64_t stride = int64_t{gridDim.x} * kBlockThreads * N;
#pragma unroll 1
  for (int64_t first = GridThread() * N; first < n; first += stride) {
    const int64_t channel = map.Channel(first);
    if (channel != held) {
      held = channel;
      for (int k = 0; k < N; ++k) {
        channels[k] = of(map.channels_last() ? channel + k : channel);
      }
    }
    const auto compute = [&](int64_t, int k, auto... values) {
      return f(channels[k], values...);
    };
    ComputePacket<N>(first, compute, y, Floats<N>::Load(x + first)...);
  }
}

// Computes y[i] = f(of(channel of i), x[i]...) for the n elements of whole
// rows.
template <typename Of, typename Function, typename Output, typename... Inputs>
absl::Status LaunchChannelPackets(LayerDevice* device, const char* name,
                                  const ChannelMap& map, int64_t n,
                                  const Of& of, const Function& f, Output* y,
                                  const Inputs*... x) {
  // Enough for the largest device (132 multiprocessors with 8 such blocks
  // each), and few enough that a thread has several packets.
  constexpr int64_t kMaxBlocks = 4096;
  constexpr int N = kPacket<Output>;
  return map.row() % N == 0 && AreAligned(y, x...)
             ? LaunchKernel(
                   device, name, ChannelBlocks(map, n, N, kMaxBlocks),
                   ChannelPacketsKernel<N, Of, Function, Output, Inputs...>,
                   map, n, of, f, y, x...)
             : LaunchKernel(
                   device, name, ChannelBlocks(map, n, 1, kMaxBlocks),
                   ChannelPacketsKernel<1, Of, Function, Output, Inputs...>,
                   map, n, of, f, y, x...);
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_ELEMENTWISE_CUH_
