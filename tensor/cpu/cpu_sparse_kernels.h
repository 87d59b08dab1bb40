// Implements the passes over long vectors that compressors need, on the CPU.
#ifndef TENSOR_CPU_CPU_SPARSE_KERNELS_H_
#define TENSOR_CPU_CPU_SPARSE_KERNELS_H_

#include <memory>

#include "tensor/sparse_kernels.h"

namespace ps {

// Creates the kernels. num_threads: at least 1. Results depend neither on it
// nor on the machine's vector width.
std::unique_ptr<SparseKernels> NewCpuSparseKernels(int num_threads);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SPARSE_KERNELS_H_
