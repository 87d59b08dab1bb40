// A linear layer of every step of a sequence on the CPU. Unlike cpu_linear's it
// leaves the weights where they are: a table of 10,000 words is too long to
// be brought to a layout of oneDNN's and back in each iteration.
#ifndef TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_
#define TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/nn_kernels.h"

namespace ps {

// See SequenceKernels. `pool` outlives the operation; products take as many
// threads of OpenMP.
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuSequenceLinear(
    ThreadPool* pool, int64_t out_features, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SEQUENCE_LINEAR_H_
