// The launch of the widening of 16-bit floats on an emulated device.

#ifdef PS_HAVE_CUDA

#include "compressors/cuda/widen_launch.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tests/tensor/cuda/emulated_device.h"

namespace ps {
namespace {

template <class Format>
cudaError_t Queue(const WidenCodes<Format>& widen, int64_t n,
                  cudaStream_t stream) {
  if (n < 1) return cudaErrorInvalidConfiguration;
  return QueueOnEmulatedStream(stream, [widen, n] {
    HostBlock block(EmulatedThreadOrder());
    constexpr int64_t kBlocks = 3;
    for (int64_t b = 0; b < kBlocks; ++b) {
      ForEachElement(block, b, kBlocks, kSparseThreads, n, widen);
    }
  });
}

}  // namespace

cudaError_t LaunchWiden(const WidenCodes<Bf16>& widen, int64_t n,
                        cudaStream_t stream) {
  return Queue(widen, n, stream);
}

cudaError_t LaunchWiden(const WidenCodes<Fp16>& widen, int64_t n,
                        cudaStream_t stream) {
  return Queue(widen, n, stream);
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
