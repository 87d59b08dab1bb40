// Runs the layers' cores in grids of threads.

#include <cuda_runtime.h>

#include "tensor/cuda/layer_device/all_kernels.h"
#include "tensor/cuda/layer_device/launch_kernel.h"

namespace ps {
namespace {

// Blocks of a grid; the rest of the work is done by its strides. Enough to fill
// the largest device (132 multiprocessors with 8 such blocks each) many times,
// so that the last blocks leave few of them idle.
constexpr int64_t kMaxBlocks = 16384;

// Elements from the grid's first thread on, then a grid further.
template <typename Core>
__global__ void __launch_bounds__(kBlockThreads)
    ElementKernel(const Core core, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    core(i);
  }
}

// The loops are the same for all threads of a block, and so are its barriers.
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

template <typename Core>
int Launch(const void* core, int64_t count, cudaStream_t stream) {
  constexpr bool kElements = std::is_base_of_v<ElementCore, Core>;
  const int64_t wanted =
      kElements ? (count + kBlockThreads - 1) / kBlockThreads : count;
  const unsigned blocks = static_cast<unsigned>(Smaller(wanted, kMaxBlocks));
  const Core& typed = *static_cast<const Core*>(core);
  if constexpr (kElements) {
    ElementKernel<<<blocks, kBlockThreads, 0, stream>>>(typed, count);
  } else {
    BlockKernel<<<blocks, kBlockThreads, 0, stream>>>(typed, count);
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
