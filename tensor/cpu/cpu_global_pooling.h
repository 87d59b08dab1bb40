// Averages over height and width, on the CPU.
#ifndef TENSOR_CPU_CPU_GLOBAL_POOLING_H_
#define TENSOR_CPU_CPU_GLOBAL_POOLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuGlobalPooling(
    ThreadPool* pool, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_GLOBAL_POOLING_H_
