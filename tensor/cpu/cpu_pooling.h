// Pools on the CPU, with loops of our own: oneDNN 2.6 takes several times as
// long if there are too few channels to fill a vector.
#ifndef TENSOR_CPU_CPU_POOLING_H_
#define TENSOR_CPU_CPU_POOLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuPooling(
    ThreadPool* pool, const PoolingShape& shape, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_POOLING_H_
