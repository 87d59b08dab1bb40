// The passes over long vectors that compressors need, on a CUDA device.
//
// Every operation gives the CPU's results bit for bit: it uses the same chunks
// and lanes and the same order in every sum, rounds every product and sum, and
// takes logarithms on the host. There are two exceptions: moments of vectors
// with a non-finite element, which are meaningless, and sums of exceedances
// over infinity.
#ifndef TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
#define TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Works on streams->compression(), after all work queued on streams->compute().
// Operations that return a result to the host wait for it; the others return at
// once, and later work on either stream runs after them. `streams` is not owned
// and outlives the kernels. Errors: kResourceExhausted, or CUDA's.
absl::StatusOr<std::unique_ptr<SparseKernels>> NewCudaSparseKernels(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
