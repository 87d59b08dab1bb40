// Windows over the frames of a sequence, on CUDA.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_FRAME_WINDOW_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_FRAME_WINDOW_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanFrameWindow. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaFrameWindow(
    LayerDevice* device, const FrameWindowShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_FRAME_WINDOW_H_
