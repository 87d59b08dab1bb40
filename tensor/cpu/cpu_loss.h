// Computes softmax and its cross entropy on the CPU.
#ifndef TENSOR_CPU_CPU_LOSS_H_
#define TENSOR_CPU_CPU_LOSS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Plans the operation of NnKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCpuSoftmaxCrossEntropy(ThreadPool* pool, const ActivationDesc& logits);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LOSS_H_
