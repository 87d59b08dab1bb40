// The launch of a worker's own optimizer on an emulated device.

#ifdef PS_HAVE_CUDA

#include "optimizers/cuda/step_launch.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tests/tensor/cuda/emulated_device.h"

namespace ps {

template <class Element>
cudaError_t LaunchSteps(const StepElementOf<Element>& step, int64_t n,
                        cudaStream_t stream) {
  if (n < 1) return cudaErrorInvalidConfiguration;
  return QueueOnEmulatedStream(stream, [step, n] {
    HostBlock block(EmulatedThreadOrder());
    constexpr int64_t kBlocks = 3;
    for (int64_t b = 0; b < kBlocks; ++b) {
      ForEachElement(block, b, kBlocks, kSparseThreads, n, step);
    }
  });
}

PS_INSTANTIATE_STEPS();

}  // namespace ps

#endif  // PS_HAVE_CUDA
