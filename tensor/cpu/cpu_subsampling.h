// Drops pixels and adds channels of zeros, for shortcuts, on the CPU.
#ifndef TENSOR_CPU_CPU_SUBSAMPLING_H_
#define TENSOR_CPU_CPU_SUBSAMPLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuSubsampling(
    ThreadPool* pool, const SubsamplingShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SUBSAMPLING_H_
