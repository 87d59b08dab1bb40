// Converts activations on CUDA to plain order.
#ifndef TENSOR_CUDA_NN_CUDA_REORDER_H_
#define TENSOR_CUDA_NN_CUDA_REORDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanReorder. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaReorder(
    LayerDevice* device, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_REORDER_H_
