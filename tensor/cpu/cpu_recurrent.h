// Computes recurrent layers on the CPU. The products of all steps with the
// input are computed as one product. Each step adds its product with the state,
// for which the weights are packed once, and a vectorised loop over the cells.
#ifndef TENSOR_CPU_CPU_RECURRENT_H_
#define TENSOR_CPU_CPU_RECURRENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/cpu/shared_scratch.h"
#include "tensor/nn_kernels.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` and `scratch` outlive the
// operation; products use as many OpenMP threads as the pool has. Errors: also
// kResourceExhausted.
absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCpuRecurrent(
    ThreadPool* pool, SharedScratch* scratch, const RecurrentShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_RECURRENT_H_
