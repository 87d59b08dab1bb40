#include "tests/tensor/cuda/layers/emulate_kernel.h"

#include <cstring>
#include <memory>
#include <type_traits>

#include "tensor/cuda/layer_device/all_kernels.h"

namespace ps {
namespace {

// Calls body(i) for i in [0, n) in the given order.
template <typename Body>
void ForEach(EmulatedOrder order, int64_t n, const Body& body) {
  for (int64_t i = 0; i < n; ++i) {
    body(order == EmulatedOrder::kForward ? i : n - 1 - i);
  }
}

// Few blocks, so that threads take several packets also of small arrays.
template <int N, typename Core>
void EmulatePackets(EmulatedOrder order, const Core& core, int64_t count) {
  constexpr int64_t kMaxBlocks = 3;
  const int64_t threads =
      PacketBlocks<N>(core, count, kMaxBlocks) * kBlockThreads;
  ForEach(order, threads,
          [&](int64_t thread) { RunPackets<N>(core, count, thread, threads); });
}

template <typename Core>
void Emulate(EmulatedOrder order, const void* erased, int64_t count) {
  const Core& core = *static_cast<const Core*>(erased);
  if constexpr (std::is_base_of_v<PacketCore, Core>) {
    if (TakesPackets(core)) {
      EmulatePackets<kPacket<Core>>(order, core, count);
    } else {
      EmulatePackets<1>(order, core, count);
    }
  } else if constexpr (std::is_base_of_v<ElementCore, Core>) {
    ForEach(order, count, [&](int64_t i) { core(i); });
  } else {
    using Shared = typename Core::Shared;
    static_assert(std::is_trivially_default_constructible_v<Shared>,
                  "a block's memory is not constructed on the device");
    // The size that a kernel can use without special settings.
    static_assert(sizeof(Shared) <= 48 * 1024);
    ForEach(order, count, [&](int64_t block) {
      // Uninitialised shared memory: all ones, which is a NaN.
      alignas(Shared) unsigned char memory[sizeof(Shared)];
      std::memset(memory, 0xff, sizeof(memory));
      auto* const shared = reinterpret_cast<Shared*>(memory);
      for (int phase = 0; phase < Core::kPhases; ++phase) {
        ForEach(order, kBlockThreads, [&](int64_t thread) {
          core(phase, block, static_cast<int>(thread), shared);
        });
      }
    });
  }
}

template <typename Core>
std::shared_ptr<const void> CopyCore(const void* erased) {
  return std::make_shared<const Core>(*static_cast<const Core*>(erased));
}

using Copier = std::shared_ptr<const void> (*)(const void* core);

template <typename... Cores>
Copier FindCopier(KernelList<Cores...>, int kernel) {
  static constexpr Copier kCopiers[] = {CopyCore<Cores>...};
  return kCopiers[kernel];
}

using Emulator = void (*)(EmulatedOrder order, const void* core, int64_t count);

template <typename... Cores>
Emulator FindEmulator(KernelList<Cores...>, int kernel) {
  static constexpr Emulator kEmulators[] = {Emulate<Cores>...};
  return kEmulators[kernel];
}

}  // namespace

std::function<void(EmulatedOrder order)> EmulatedKernel(int kernel,
                                                        const void* core,
                                                        int64_t count) {
  return [copy = FindCopier(AllKernels(), kernel)(core),
          emulate = FindEmulator(AllKernels(), kernel),
          count](EmulatedOrder order) { emulate(order, copy.get(), count); };
}

}  // namespace ps
