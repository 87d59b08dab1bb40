// Looks up embedding tables on the CPU: rows are copied, and gradients are
// added to them.
#ifndef TENSOR_CPU_CPU_EMBEDDING_H_
#define TENSOR_CPU_CPU_EMBEDDING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanCpuEmbedding(
    ThreadPool* pool, const EmbeddingShape& shape, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_EMBEDDING_H_
