// Dropout on CUDA.
#ifndef TENSOR_CUDA_NN_CUDA_DROPOUT_H_
#define TENSOR_CUDA_NN_CUDA_DROPOUT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanDropout. `device` outlives the operation. Drops the same
// elements as the CPU does in a plain activation.
absl::StatusOr<std::unique_ptr<DropoutOp>> PlanCudaDropout(
    LayerDevice* device, double probability, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_DROPOUT_H_
