// Runs the layers' cores in grids of threads.

#include <cuda_runtime.h>

#include "tensor/cuda/layer_device/all_kernels.h"
#include "tensor/cuda/layer_device/launch_kernel.h"

namespace ps {
namespace {

// Maximum number of blocks of a grid; the grid-stride loops do the rest of the
// work. This is enough to fill the largest device (132 multiprocessors with 8
// such blocks each) many times over, so that few multiprocessors are idle
// during the last blocks.
constexpr int64_t kMaxBlocks = 16384;

// Fewer for packets, so that a thread has several for the channels whose values
// it holds.
constexpr int64_t kMaxPacketBlocks = 4096;

template <int N, typename Core>
__global__ void __launch_bounds__(kBlockThreads)
    PacketKernel(const Core core, int64_t count) {
  RunPackets<N>(core, count, int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                int64_t{gridDim.x} * blockDim.x);
}

template <int N, typename Core>
void LaunchPackets(const Core& core, int64_t count, cudaStream_t stream) {
  const unsigned blocks =
      static_cast<unsigned>(PacketBlocks<N>(core, count, kMaxPacketBlocks));
  PacketKernel<N><<<blocks, kBlockThreads, 0, stream>>>(core, count);
}

// Each thread starts at its index in the grid, and advances by the grid's size.
template <typename Core>
__global__ void __launch_bounds__(kBlockThreads)
    ElementKernel(const Core core, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    core(i);
  }
}

// All threads of a block run the same loops, and so reach the same barriers.
template <typename Core>
__global__ void __launch_bounds__(kBlockThreads)
    BlockKernel(const Core core, int64_t count) {
  __shared__ typename Core::Shared shared;
  for (int64_t block = blockIdx.x; block < count; block += gridDim.x) {
    for (int phase = 0; phase < Core::kPhases; ++phase) {
      core(phase, block, static_cast<int>(threadIdx.x), &shared);
      __syncthreads();
    }
  }
}

unsigned GridExtent(int64_t blocks) {
  return static_cast<unsigned>(Smaller(blocks, kMaxBlocks));
}

template <typename Core>
int Launch(const void* core, int64_t count, cudaStream_t stream) {
  const Core& typed = *static_cast<const Core*>(core);
  if constexpr (std::is_base_of_v<PacketCore, Core>) {
    if (TakesPackets(typed)) {
      LaunchPackets<kPacket<Core>>(typed, count, stream);
    } else {
      LaunchPackets<1>(typed, count, stream);
    }
  } else if constexpr (std::is_base_of_v<ElementCore, Core>) {
    const int64_t blocks = (count + kBlockThreads - 1) / kBlockThreads;
    ElementKernel<<<GridExtent(blocks), kBlockThreads, 0, stream>>>(typed,
                                                                    count);
  } else {
    BlockKernel<<<GridExtent(count), kBlockThreads, 0, stream>>>(typed, count);
  }
  return cudaGetLastError();
}

using Launcher = int (*)(const void* core, int64_t count, cudaStream_t stream);

template <typename... Cores>
int LaunchOneOf(KernelList<Cores...>, int kernel, const void* core,
                int64_t count, cudaStream_t stream) {
  static constexpr Launcher kLaunchers[] = {Launch<Cores>...};
  if (kernel < 0 || kernel >= KernelList<Cores...>::kSize) {
    return cudaErrorInvalidValue;
  }
  return kLaunchers[kernel](core, count, stream);
}

}  // namespace

int LaunchKernel(int kernel, const void* core, int64_t count, void* stream) {
  return LaunchOneOf(AllKernels(), kernel, core, count,
                     static_cast<cudaStream_t>(stream));
}

}  // namespace ps
