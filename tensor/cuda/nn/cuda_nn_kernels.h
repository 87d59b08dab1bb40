// The layers on CUDA.
//
// Activations have the layouts of cuda_layout.h: bfloat16 if the device
// computes with it, starting with the output of the first layer with weights.
// Everything except products, and sums over products, is computed in floats
// either way. All work runs in the order of one stream; only the loss, which
// returns a result to the host, waits for it. Scratch and memory kept for
// Backward are allocated when planning.
#ifndef TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
#define TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Errors: those of NewCudaLayerDevice.
absl::StatusOr<std::unique_ptr<NnKernels>> NewCudaNnKernels(
    const CudaNnOptions& options);

// The layers on a device that is shared with others; the kernels keep a handle
// to it.
std::unique_ptr<NnKernels> NewNnKernelsOn(std::shared_ptr<LayerDevice> device);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_NN_KERNELS_H_
