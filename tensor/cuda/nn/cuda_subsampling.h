// Subsampling on CUDA.
#ifndef TENSOR_CUDA_NN_CUDA_SUBSAMPLING_H_
#define TENSOR_CUDA_NN_CUDA_SUBSAMPLING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See NnKernels::PlanSubsampling. `device` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCudaSubsampling(
    LayerDevice* device, const SubsamplingShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_SUBSAMPLING_H_
