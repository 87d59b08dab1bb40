// Reduces a sequence to its last step, or to the mean over its steps.
#ifndef TENSOR_CPU_CPU_STEP_REDUCTION_H_
#define TENSOR_CPU_CPU_STEP_REDUCTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuStepReduction(
    ThreadPool* pool, StepReduction reduction, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_STEP_REDUCTION_H_
