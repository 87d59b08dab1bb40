// Computes the CTC loss on the CPU, each example of a batch on one thread.
#ifndef TENSOR_CPU_CPU_CTC_LOSS_H_
#define TENSOR_CPU_CPU_CTC_LOSS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/ctc_loss.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` outlives the operation.
// Reserves, for each thread, memory for the longest transcript that fits into
// the frames: steps^2 x 16 bytes. Only the part that the batches' transcripts
// need is ever touched, and so resident.
absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCpuCtcLoss(
    ThreadPool* pool, const ActivationDesc& logits);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_CTC_LOSS_H_
