// Copies windows over the frames of a sequence; plain C++ is enough for that.
#ifndef TENSOR_CPU_CPU_FRAME_WINDOW_H_
#define TENSOR_CPU_CPU_FRAME_WINDOW_H_

#include <memory>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Plans the operation of SequenceKernels. `pool` outlives the operation.
absl::StatusOr<std::unique_ptr<UnaryOp>> PlanCpuFrameWindow(
    ThreadPool* pool, const FrameWindowShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_FRAME_WINDOW_H_
