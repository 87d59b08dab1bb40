// Dropout. It drops the same elements as the CPU for the same key and positions
// (tensor/cpu/cpu_dropout.cc); a test checks this.
#ifndef TENSOR_CUDA_NN_DROPOUT_CORE_H_
#define TENSOR_CUDA_NN_DROPOUT_CORE_H_

#include <cstdint>

#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/layer_device/packet_core.h"

namespace ps {

// The number of elements that share a key, as a power of 2, and the bits of
// each draw.
inline constexpr int kDropoutChunkBits = 16;
inline constexpr int kDropoutDrawBits = 24;

// Count: elements. y may be x.
template <typename T>
struct DropoutCore : PacketCore {
  static constexpr const char* kName = "Dropout";
  uint64_t key;
  int32_t drop_below;  // In units of 2^-kDropoutDrawBits.
  float scale;
  const T* x;
  T* y;

  // common/random.h
  static PS_HOST_DEVICE uint64_t Mix64(uint64_t v) {
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
  }

  // tensor/cpu/cpu_dropout_loops.cc
  static PS_HOST_DEVICE uint32_t Mix32(uint32_t v) {
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    return v ^ (v >> 16);
  }

  using Inputs = Arrays<&DropoutCore::x>;
  using Output = Arrays<&DropoutCore::y>;
  PS_HOST_DEVICE float operator()(int64_t first, int k, float x) const {
    // The same for all of the packet, whose length divides a chunk's.
    const uint64_t chunk = static_cast<uint64_t>(first) >> kDropoutChunkBits;
    const uint64_t chunk_key =
        Mix64(key ^ (Mix64(chunk) * 0xd1342543de82ef95u));
    const uint32_t number = static_cast<uint32_t>(first + k) &
                            ((uint32_t{1} << kDropoutChunkBits) - 1);
    const uint32_t hash =
        Mix32(Mix32(number ^ static_cast<uint32_t>(chunk_key)) +
              static_cast<uint32_t>(chunk_key >> 32));
    const int32_t draw = static_cast<int32_t>(hash >> (32 - kDropoutDrawBits));
    return draw < drop_below ? 0.0f : x * scale;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_DROPOUT_CORE_H_
