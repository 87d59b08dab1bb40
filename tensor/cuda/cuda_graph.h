// Records the work of a stream as a CUDA graph, which a single call launches.
//
// Includes CUDA's headers, so only for libraries that are built only with the
// toolkit.
#ifndef TENSOR_CUDA_CUDA_GRAPH_H_
#define TENSOR_CUDA_CUDA_GRAPH_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/recording.h"

namespace ps {

// Captures the work that `work` gives the stream, without running it ("CUDA C++
// Programming Guide", Stream Capture). Replay launches it on the same stream,
// which must outlive the result and must not be the default stream. `work` must
// use no other stream, wait for nothing, allocate nothing, and copy only from
// and to pinned host memory. Other threads may continue to use other streams.
// Errors: those of `work`, or CUDA's.
absl::StatusOr<std::unique_ptr<Recording>> RecordGraph(
    cudaStream_t stream, const std::function<absl::Status()>& work);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_GRAPH_H_
