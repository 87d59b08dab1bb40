// The CTC loss for models on CUDA. The lattice is computed on the host: logits
// are copied there, and their gradient is copied back.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_CTC_LOSS_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_CTC_LOSS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanCtcLoss. `device`, and `pool`, which processes the
// examples of a batch, outlive the operation. Run waits for the device.
absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCudaCtcLoss(
    LayerDevice* device, ThreadPool* pool, const ActivationDesc& logits);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_CTC_LOSS_H_
