// Drops elements on the CPU. It keeps no mask, since drawing the mask again
// costs less.
#ifndef TENSOR_CPU_CPU_DROPOUT_H_
#define TENSOR_CPU_CPU_DROPOUT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<DropoutOp>> PlanCpuDropout(
    ThreadPool* pool, double probability, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_DROPOUT_H_
