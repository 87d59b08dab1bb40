// The operations on long vectors that compressors and layers need, on a CUDA
// device.
#ifndef TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
#define TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/cuda_streams.h"
#include "tensor/cuda/memory_region.h"
#include "tensor/sparse_kernels.h"
#include "tensor/vector_kernels.h"

namespace ps {

// Works on streams->compression(), after all work queued on streams->compute().
// Operations that return a result to the host wait for it; the others return at
// once, and later work on either stream runs after them. Elements and counts
// are the CPU's; sums may differ from the CPU's in the last bits of a double.
// `streams` is not owned and outlives the kernels. num_host_threads: for loops
// over the host's memory. Errors: kResourceExhausted, or CUDA's.
absl::StatusOr<std::unique_ptr<SparseKernels>> NewCudaSparseKernels(
    CudaStreams* streams, std::shared_ptr<MemoryRegion> memory,
    int num_host_threads);

// The layers' operations: on streams->compute(), in order with the layers, and
// never waits. `streams` is not owned and outlives the kernels.
std::unique_ptr<VectorKernels> NewCudaVectorKernels(CudaStreams* streams);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_SPARSE_KERNELS_H_
