// The passes over long vectors that compressors need, on a CUDA device.
//
// Bit for bit the CPU's results, of every operation: the same chunks and lanes,
// the same order of every sum, every product and sum rounded; logarithms are
// the host's. Two exceptions: moments where an element is not finite, which are
// void, and sums of exceedances over infinity.
#ifndef TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
#define TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Works on streams->compression(), after what streams->compute() has queued.
// What has a result for the host waits for it; the others return at once, and
// later work on either stream comes after them. `streams` is not owned and
// outlives the kernels. Errors: kResourceExhausted, or CUDA's.
absl::StatusOr<std::unique_ptr<SparseKernels>> NewCudaSparseKernels(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
