// Computes activation functions and reorders with oneDNN. Planning may throw
// dnnl::error, which CpuNnKernels catches; running does not throw.
#ifndef TENSOR_CPU_CPU_UNARY_H_
#define TENSOR_CPU_CPU_UNARY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/cpu/dnnl_step.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operations of NnKernels. `context` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuActivation(
    const DnnlContext& context, ThreadPool* pool, Activation function,
    const ActivationDesc& input);

absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuReorder(
    const DnnlContext& context, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_UNARY_H_
