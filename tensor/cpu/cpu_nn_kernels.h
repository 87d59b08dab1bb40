// Implements NnKernels with oneDNN.
#ifndef TENSOR_CPU_CPU_NN_KERNELS_H_
#define TENSOR_CPU_CPU_NN_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Creates the kernels. num_threads: OpenMP threads of one operation, at least
// 1. Planned operations must not outlive the returned object.
absl::StatusOr<std::unique_ptr<NnKernels>> NewCpuNnKernels(int num_threads);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_NN_KERNELS_H_
