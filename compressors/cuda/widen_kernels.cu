// The kernel that widens 16-bit floats; its body is in widening.h.

#include <cuda_runtime.h>

#include "compressors/cuda/widen_launch.h"
#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/elementwise.h"
#include "tensor/cuda/sparse/device_block.h"

namespace ps {
namespace {

// The same limit as in tensor/cuda/sparse/sparse_kernels.cu.
constexpr int64_t kMaxWideningBlocks = 4096;

template <class Format>
__global__ void __launch_bounds__(kSparseThreads)
    WidenKernel(WidenCodes<Format> widen, int64_t n) {
  DeviceBlock block;
  ForEachElement(block, blockIdx.x, gridDim.x, kSparseThreads, n, widen);
}

template <class Format>
cudaError_t Launch(const WidenCodes<Format>& widen, int64_t n,
                   cudaStream_t stream) {
  const int64_t blocks = (n + kSparseThreads - 1) / kSparseThreads;
  WidenKernel<<<static_cast<unsigned>(
                    blocks < kMaxWideningBlocks ? blocks : kMaxWideningBlocks),
                kSparseThreads, 0, stream>>>(widen, n);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchWiden(const WidenCodes<Bf16>& widen, int64_t n,
                        cudaStream_t stream) {
  return Launch(widen, n, stream);
}

cudaError_t LaunchWiden(const WidenCodes<Fp16>& widen, int64_t n,
                        cudaStream_t stream) {
  return Launch(widen, n, stream);
}

}  // namespace ps
