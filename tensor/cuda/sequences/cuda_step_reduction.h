// The last step of a sequence, or the mean over its steps, on CUDA.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_STEP_REDUCTION_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_STEP_REDUCTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanStepReduction. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaStepReduction(
    LayerDevice* device, StepReduction reduction, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_STEP_REDUCTION_H_
