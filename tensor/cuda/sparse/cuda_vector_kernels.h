// The layers' operations on long vectors, on a CUDA device.
#ifndef TENSOR_CUDA_SPARSE_CUDA_VECTOR_KERNELS_H_
#define TENSOR_CUDA_SPARSE_CUDA_VECTOR_KERNELS_H_

#include <memory>

#include "tensor/cuda/cuda_streams.h"
#include "tensor/vector_kernels.h"

namespace ps {

// Works on streams->compute(), in order with the layers, and never waits.
// Results have the same bits as the CPU's. `streams` is not owned and outlives
// the kernels.
std::unique_ptr<VectorKernels> NewCudaVectorKernels(CudaStreams* streams);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_VECTOR_KERNELS_H_
