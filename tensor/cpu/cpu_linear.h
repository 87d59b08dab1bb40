// Computes linear layers with oneDNN. Planning may throw dnnl::error, which
// CpuNnKernels catches; running does not throw.
#ifndef TENSOR_CPU_CPU_LINEAR_H_
#define TENSOR_CPU_CPU_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cpu/dnnl_step.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `context` outlives the operation.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuLinear(
    const DnnlContext& context, int64_t out_features,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LINEAR_H_
