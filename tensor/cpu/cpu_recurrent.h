// Recurrent layers on the CPU. All steps' products with the input are one
// product; each step adds its product with the state, for which the weights are
// packed once, and a vectorised loop over the cells.
#ifndef TENSOR_CPU_CPU_RECURRENT_H_
#define TENSOR_CPU_CPU_RECURRENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/cpu/shared_scratch.h"
#include "tensor/nn_kernels.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels. `pool` and `scratch` outlive the operation; products
// take as many threads of OpenMP as the pool has. Errors: also
// kResourceExhausted.
absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCpuRecurrent(
    ThreadPool* pool, SharedScratch* scratch, const RecurrentShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_RECURRENT_H_
