// Implements SequenceKernels with matrix products and loops of our own.
#ifndef TENSOR_CPU_CPU_SEQUENCE_KERNELS_H_
#define TENSOR_CPU_CPU_SEQUENCE_KERNELS_H_

#include <memory>

#include "tensor/sequence_kernels.h"

namespace ps {

// Creates the kernels. num_threads: threads of one operation, at least 1.
// Planned operations must not outlive the returned object.
std::unique_ptr<SequenceKernels> NewCpuSequenceKernels(int num_threads);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SEQUENCE_KERNELS_H_
