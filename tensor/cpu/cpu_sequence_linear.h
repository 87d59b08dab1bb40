// Computes a linear layer at every step of a sequence, on the CPU. Unlike
// cpu_linear.h it uses the weights in place: a table of 10,000 words is too
// large to be converted to oneDNN's layout and back in each iteration.
#ifndef TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_
#define TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` outlives the operation;
// products use as many OpenMP threads as the pool has.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuSequenceLinear(
    ThreadPool* pool, int64_t out_features, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_
