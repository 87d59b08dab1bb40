// Batch normalisation on CUDA.
//
// It uses our own kernels rather than cuDNN's: the sums are in double and in a
// fixed order, a batch with a NaN does not change the running statistics, the
// residual and the ReLU are fused in any combination, and all passes are bound
// by memory bandwidth.
#ifndef TENSOR_CUDA_NN_CUDA_BATCH_NORM_H_
#define TENSOR_CUDA_NN_CUDA_BATCH_NORM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanBatchNorm. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanCudaBatchNorm(
    LayerDevice* device, const BatchNormShape& shape,
    const ActivationDesc& input, const ActivationDesc* residual);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_BATCH_NORM_H_
