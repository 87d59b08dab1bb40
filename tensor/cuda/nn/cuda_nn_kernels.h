// The layers on CUDA.
//
// Activations lie as cuda_layout.h says: bfloat16 where the device computes
// with it, from the first layer with weights on. What is not a product or a sum
// over one is computed as floats either way. Everything runs in the order of
// one stream; only what returns a result to the host, the loss, waits for it.
// Scratch and what is kept for Backward are allocated when planning.
#ifndef TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
#define TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Errors: NewCudaLayerDevice's.
absl::StatusOr<std::unique_ptr<NnKernels>> NewCudaNnKernels(
    const CudaNnOptions& options);

// On a device that others use too, of which it takes a share.
std::unique_ptr<NnKernels> NewNnKernelsOn(std::shared_ptr<LayerDevice> device);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
