// Layers over sequences on CUDA. Everything runs in the order of one stream;
// embeddings and the CTC loss wait for it.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// host_threads: threads for the work on the host, which is the CTC loss; at
// least 1. Errors: those of NewCudaLayerDevice.
absl::StatusOr<std::unique_ptr<SequenceKernels>> NewCudaSequenceKernels(
    const CudaNnOptions& options, int host_threads);

// The layers on a device that is shared with others; the kernels keep a handle
// to it.
std::unique_ptr<SequenceKernels> NewSequenceKernelsOn(
    std::shared_ptr<LayerDevice> device, int host_threads);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_SEQUENCE_KERNELS_H_
