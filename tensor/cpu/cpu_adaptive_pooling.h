// Averages to a given output size, on the CPU.
#ifndef TENSOR_CPU_CPU_ADAPTIVE_POOLING_H_
#define TENSOR_CPU_CPU_ADAPTIVE_POOLING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuAdaptivePooling(
    ThreadPool* pool, int64_t out_height, int64_t out_width,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_ADAPTIVE_POOLING_H_
