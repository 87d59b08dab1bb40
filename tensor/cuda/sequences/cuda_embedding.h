// Embeddings on CUDA.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_EMBEDDING_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_EMBEDDING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanEmbedding. `device` outlives the operation. Forward
// waits for the device, to report whether all tokens are row numbers.
absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanCudaEmbedding(
    LayerDevice* device, const EmbeddingShape& shape,
    const ActivationDesc& tokens);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_EMBEDDING_H_
