// Average pooling over parts of images, and over whole images, on CUDA.
#ifndef TENSOR_CUDA_NN_CUDA_ADAPTIVE_POOLING_H_
#define TENSOR_CUDA_NN_CUDA_ADAPTIVE_POOLING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanAdaptivePooling and PlanGlobalPooling. `device` outlives
// the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaAdaptivePooling(
    LayerDevice* device, int64_t out_height, int64_t out_width,
    const ActivationDesc& input);
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaGlobalPooling(
    LayerDevice* device, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_ADAPTIVE_POOLING_H_
