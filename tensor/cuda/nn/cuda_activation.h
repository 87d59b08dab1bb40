// Activation functions and sums on CUDA, element by element.
#ifndef TENSOR_CUDA_NN_CUDA_ACTIVATION_H_
#define TENSOR_CUDA_NN_CUDA_ACTIVATION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/activation_cores.h"
#include "tensor/nn_kernels.h"

namespace ps {

ActivationKind KindOf(Activation function);

// See NnKernels::PlanActivation and PlanSum. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaActivation(
    LayerDevice* device, Activation function, const ActivationDesc& input);
absl::StatusOr<std::unique_ptr<SumOp>> PlanCudaSum(LayerDevice* device,
                                                   const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_ACTIVATION_H_
