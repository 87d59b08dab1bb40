// Computes convolutions with oneDNN. Planning may throw dnnl::error, which
// CpuNnKernels catches; running does not throw.
#ifndef TENSOR_CPU_CPU_CONVOLUTION_H_
#define TENSOR_CPU_CPU_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cpu/dnnl_step.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `context` outlives the operation.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuConvolution(
    const DnnlContext& context, const ConvolutionShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CONVOLUTION_H_
