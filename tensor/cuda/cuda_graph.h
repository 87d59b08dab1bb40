// Work of a stream as a CUDA graph, which one call launches.
//
// Includes CUDA's headers: only for libraries that exist where there is a
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

// Captures what `work` gives the stream, which is not the default one, without
// doing it ("CUDA C++ Programming Guide", Stream Capture); Replay launches it
// on the same stream, which outlives the result. `work` uses no other stream,
// waits for nothing, allocates nothing, and copies from and to pinned memory of
// the host alone. Other threads may go on with other streams. Errors: those of
// `work`, or CUDA's.
absl::StatusOr<std::unique_ptr<Recording>> RecordGraph(
    cudaStream_t stream, const std::function<absl::Status()>& work);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_GRAPH_H_
