// Kernels that pass over arrays element by element. They take a packet of
// adjacent elements at a time, 16 bytes of the output, so that one instruction
// loads or stores several. A core says which arrays it reads and writes, and
// computes one element from others; everything else is here.
#ifndef TENSOR_CUDA_LAYER_DEVICE_PACKET_CORE_H_
#define TENSOR_CUDA_LAYER_DEVICE_PACKET_CORE_H_

#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// Arrays of a core, by its members.
template <auto... kMembers>
struct Arrays {
  static constexpr int kSize = sizeof...(kMembers);
};

// A core derived from this has
//   using Inputs = Arrays<&Core::a, &Core::b>;
//   using Output = Arrays<&Core::y>;  // May be one of the inputs.
//   float operator()(int64_t first, int k, float a, float b) const;
// which returns the output's element first + k, where `first` is a multiple of
// the packet's length, a power of 2 of at most 8. Count: elements.
struct PacketCore {};

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

// A core derived from this also has values for each channel, which a thread
// loads again only when its channel changes:
//   ChannelMap map;
//   struct Channel;
//   Channel OfChannel(int64_t channel) const;
//   float operator()(const Channel& channel, float a, float b) const;
// Count: the elements of whole rows.
struct ChannelPacketCore : PacketCore {};

// The packet at `data`, whose array is aligned to 16 bytes. (The cast keeps
// nvcc from generating invalid code.)
template <int N, typename T>
PS_HOST_DEVICE inline const void* PacketAt(const T* data) {
  constexpr size_t kBytes = N * sizeof(T);
  return __builtin_assume_aligned(static_cast<const void*>(data),
                                  kBytes < 16 ? kBytes : 16);
}
template <int N, typename T>
PS_HOST_DEVICE inline void* PacketAt(T* data) {
  constexpr size_t kBytes = N * sizeof(T);
  return __builtin_assume_aligned(static_cast<void*>(data),
                                  kBytes < 16 ? kBytes : 16);
}

// Loads a packet.
template <int N, typename T>
PS_HOST_DEVICE inline void LoadPacket(const T* from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = *from;
  } else {
    T elements[N];
    memcpy(elements, PacketAt<N>(from), sizeof(elements));
    for (int k = 0; k < N; ++k) to[k] = elements[k];
  }
}

// Stores a packet.
template <int N, typename T>
PS_HOST_DEVICE inline void StorePacket(const float (&from)[N], T* to) {
  if constexpr (N == 1) {
    *to = from[0];
  } else {
    T elements[N];
    for (int k = 0; k < N; ++k) elements[k] = from[k];
    memcpy(PacketAt<N>(to), elements, sizeof(elements));
  }
}

// Stores a packet in the array of a core, if it has one.
template <int N, typename Core>
PS_HOST_DEVICE inline void StoreOutput(const Core&, int64_t, const float (&)[N],
                                       Arrays<>) {}
template <int N, typename Core, auto kMember>
PS_HOST_DEVICE inline void StoreOutput(const Core& core, int64_t first,
                                       const float (&from)[N],
                                       Arrays<kMember>) {
  StorePacket(from, core.*kMember + first);
}

// The same element of several arrays of a core, N times.
template <int N, typename List>
struct Packets;
template <int N, auto... kMembers>
struct Packets<N, Arrays<kMembers...>> {
  static constexpr int kSize = sizeof...(kMembers);
  float values[kSize][N];

  template <typename Core>
  PS_HOST_DEVICE void Load(const Core& core, int64_t first) {
    LoadAll(core, first, std::make_index_sequence<kSize>());
  }
  // Returns function(arguments..., the k-th value of each array...).
  template <typename Function, typename... Arguments>
  PS_HOST_DEVICE auto Call(const Function& function, int k,
                           const Arguments&... arguments) const {
    return CallAll(function, std::make_index_sequence<kSize>(), k,
                   arguments...);
  }

  // Whether packets of these arrays can be loaded.
  template <typename Core>
  static bool AreAligned(const Core& core) {
    return ((reinterpret_cast<uintptr_t>(core.*kMembers) % 16 == 0) && ...);
  }

 private:
  template <typename Core, size_t... kIndices>
  PS_HOST_DEVICE void LoadAll(const Core& core, int64_t first,
                              std::index_sequence<kIndices...>) {
    (LoadPacket(core.*kMembers + first, values[kIndices]), ...);
  }
  template <typename Function, size_t... kIndices, typename... Arguments>
  PS_HOST_DEVICE auto CallAll(const Function& function,
                              std::index_sequence<kIndices...>, int k,
                              const Arguments&... arguments) const {
    return function(arguments..., values[kIndices][k]...);
  }
};

template <typename Core, auto kMember>
std::remove_reference_t<decltype(*(std::declval<Core>().*kMember))> ElementOf(
    Arrays<kMember>);
// Elements of a packet, if its arrays and rows are aligned to it.
template <typename Core>
inline constexpr int kPacket =
    16 / sizeof(decltype(ElementOf<Core>(typename Core::Output())));

template <typename Core>
inline constexpr bool kHasChannels = std::is_base_of_v<ChannelPacketCore, Core>;

// Whether the core can run with whole packets.
template <typename Core>
bool TakesPackets(const Core& core) {
  if constexpr (kHasChannels<Core>) {
    if (core.map.row() % kPacket<Core> != 0) return false;
  }
  return Packets<1, typename Core::Inputs>::AreAligned(core) &&
         Packets<1, typename Core::Output>::AreAligned(core);
}

// The number of blocks for packets of N elements, at most `max_blocks`. If
// threads take several packets, and the channels are last, all packets of a
// thread belong to the same channels where that is possible.
template <int N, typename Core>
int64_t PacketBlocks(const Core& core, int64_t count, int64_t max_blocks) {
  constexpr int64_t kBlockElements = int64_t{N} * kBlockThreads;
  const int64_t wanted = (count + kBlockElements - 1) / kBlockElements;
  if (wanted <= max_blocks) return wanted;
  if constexpr (kHasChannels<Core>) {
    if (!core.map.channels_last()) return max_blocks;
    const int64_t channels = core.map.channels.value();
    const int64_t period = channels / std::gcd(channels, kBlockElements);
    if (period <= max_blocks) return max_blocks - max_blocks % period;
  }
  return max_blocks;
}

// What one of `threads` threads does: packets of N elements, and then the
// elements that do not fill one.
template <int N, typename Core>
PS_HOST_DEVICE inline void RunPackets(const Core& core, int64_t count,
                                      int64_t thread, int64_t threads) {
  using Inputs = Packets<N, typename Core::Inputs>;
  using Output = typename Core::Output;
  const int64_t whole = count / N;
  if constexpr (kHasChannels<Core>) {
    typename Core::Channel channels[N];
    int64_t held = -1;
    for (int64_t p = thread; p < whole; p += threads) {
      Inputs inputs;
      inputs.Load(core, p * N);
      const int64_t channel = core.map.Channel(p * N);
      if (channel != held) {
        held = channel;
        for (int k = 0; k < N; ++k) {
          channels[k] =
              core.OfChannel(core.map.channels_last() ? channel + k : channel);
        }
      }
      float results[N];
      for (int k = 0; k < N; ++k) {
        results[k] = inputs.Call(core, k, channels[k]);
      }
      StoreOutput(core, p * N, results, Output());
    }
  } else {
    for (int64_t p = thread; p < whole; p += threads) {
      Inputs inputs;
      inputs.Load(core, p * N);
      float results[N];
      for (int k = 0; k < N; ++k) {
        results[k] = inputs.Call(core, k, p * N, k);
      }
      StoreOutput(core, p * N, results, Output());
    }
    const int64_t rest = whole * N + thread;
    if (N > 1 && rest < count) {
      Packets<1, typename Core::Inputs> inputs;
      inputs.Load(core, rest);
      const float results[1] = {inputs.Call(core, 0, rest, 0)};
      StoreOutput(core, rest, results, Output());
    }
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_PACKET_CORE_H_
