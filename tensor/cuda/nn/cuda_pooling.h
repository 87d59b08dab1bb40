// Maximum and average pooling on CUDA.
//
// It uses our own kernels rather than cuDNN's: the rules for NaN and for equal
// maxima are the CPU's, the gradient is deterministic (cuDNN's backward pass
// for overlapping windows is not, except in one of its modes), and both are
// bound by memory bandwidth.
#ifndef TENSOR_CUDA_NN_CUDA_POOLING_H_
#define TENSOR_CUDA_NN_CUDA_POOLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanPooling. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaPooling(
    LayerDevice* device, const PoolingShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_POOLING_H_
