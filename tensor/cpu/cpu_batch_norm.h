// Batch normalisation on the CPU, with loops of our own: oneDNN 2.6 cannot add
// a residual, and keeps a mask that can be recomputed.
#ifndef TENSOR_CPU_CPU_BATCH_NORM_H_
#define TENSOR_CPU_CPU_BATCH_NORM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanCpuBatchNorm(
    ThreadPool* pool, const BatchNormShape& shape, const ActivationDesc& input,
    const ActivationDesc* residual);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_BATCH_NORM_H_
