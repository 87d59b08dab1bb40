// A sieve whose vector and lists are the device's.
#ifndef TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_
#define TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_

#include <memory>

#include "tensor/cuda/sparse/sparse_work.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// `work` is not owned and outlives the sieve. The memory for lists, 0.75 bytes
// an element, is taken with the first vector, and again with a longer one;
// calls fail with kResourceExhausted where there is none.
std::unique_ptr<Sieve> NewCudaSieve(SparseWork* work);

// What the CPU calls the moments.
Moments MomentsOf(const ChunkStats& stats);

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CUDA_SIEVE_H_
