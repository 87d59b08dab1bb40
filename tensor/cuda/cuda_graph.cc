#include "tensor/cuda/cuda_graph.h"

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

class CudaGraph final : public Recording {
 public:
  CudaGraph(cudaStream_t stream, cudaGraphExec_t graph)
      : stream_(stream), graph_(graph) {}

  // A launch may still be running. Any error here is from earlier work, and
  // later calls report it.
  ~CudaGraph() override {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(graph_);
  }

  absl::Status Replay() override {
    PS_RETURN_IF_CUDA_ERROR(cudaGraphLaunch(graph_, stream_));
    return absl::OkStatus();
  }

 private:
  const cudaStream_t stream_;
  const cudaGraphExec_t graph_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Recording>> RecordGraph(
    cudaStream_t stream, const std::function<absl::Status()>& work) {
  // Rejects only uncapturable calls of this thread, since the compression side
  // may wait for its own streams during the capture.
  PS_RETURN_IF_CUDA_ERROR(
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const absl::Status status = work();
  cudaGraph_t graph = nullptr;
  // Must be called even after an error; otherwise the stream would stay in
  // capture mode.
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (!status.ok() || ended != cudaSuccess) {
    if (graph != nullptr) cudaGraphDestroy(graph);
    // The error of a call that cannot be captured persists until it is read.
    cudaGetLastError();
    return status.ok() ? CudaToStatus(ended, "cudaStreamEndCapture") : status;
  }
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (made != cudaSuccess) return CudaToStatus(made, "cudaGraphInstantiate");
  return std::make_unique<CudaGraph>(stream, executable);
}

}  // namespace ps
