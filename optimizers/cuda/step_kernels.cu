// The kernel of a worker's own optimizer; its body is in
// optimizers/element_step.h.

#include <cuda_runtime.h>

#include "optimizers/cuda/step_launch.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {
namespace {

// The same limit as in tensor/cuda/sparse/sparse_kernels.cu.
constexpr int64_t kMaxStepBlocks = 4096;

template <class Element>
__global__ void __launch_bounds__(kSparseThreads)
    StepKernel(StepElementOf<Element> step, int64_t n) {
  DeviceBlock block;
  ForEachElement(block, blockIdx.x, gridDim.x, kSparseThreads, n, step);
}

}  // namespace

template <class Element>
cudaError_t LaunchSteps(const StepElementOf<Element>& step, int64_t n,
                        cudaStream_t stream) {
  const int64_t blocks = (n + kSparseThreads - 1) / kSparseThreads;
  StepKernel<<<static_cast<unsigned>(
                   blocks < kMaxStepBlocks ? blocks : kMaxStepBlocks),
               kSparseThreads, 0, stream>>>(step, n);
  return cudaGetLastError();
}

PS_INSTANTIATE_STEPS();

}  // namespace ps
