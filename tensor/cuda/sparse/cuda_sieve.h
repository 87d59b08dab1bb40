// A sieve whose vector and lists are in the device's memory.
#ifndef TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_
#define TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_

#include <memory>

#include "tensor/cuda/sparse/sparse_work.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// `work` is not owned and outlives the sieve. The memory for lists, 0.75 bytes
// per element, is allocated for the first vector, and again for a longer one;
// calls fail with kResourceExhausted if there is not enough.
std::unique_ptr<Sieve> NewCudaSieve(SparseWork* work);

// Converts a pass's statistics to the moments that the CPU reports.
Moments MomentsOf(const ChunkStats& stats);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_
