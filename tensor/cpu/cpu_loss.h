// The loss on the CPU: a few numbers per example, so it is plain C++.
#ifndef TENSOR_CPU_CPU_LOSS_H_
#define TENSOR_CPU_CPU_LOSS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels.
absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCpuSoftmaxCrossEntropy(const ActivationDesc& logits);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LOSS_H_
