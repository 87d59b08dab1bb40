// Softmax cross entropy on CUDA.
#ifndef TENSOR_CUDA_NN_CUDA_LOSS_H_
#define TENSOR_CUDA_NN_CUDA_LOSS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanSoftmaxCrossEntropy. `device` outlives the operation. Run
// waits for the device, because it returns its result to the host.
absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCudaSoftmaxCrossEntropy(LayerDevice* device, const ActivationDesc& logits);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_LOSS_H_
