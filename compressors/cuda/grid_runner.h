// Runs a Work and fetches the state that it leaves, with one launch and one
// wait, which may be the caller's. For files between the host and the device;
// includes CUDA's headers.
#ifndef COMPRESSORS_CUDA_GRID_RUNNER_H_
#define COMPRESSORS_CUDA_GRID_RUNNER_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "compressors/cuda/grid_launch.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

// grid_launch.h describes a Work. For use by one thread at a time.
template <class Work>
class GridRunner {
 public:
  using Arguments = typename Work::Arguments;
  using State = typename Work::State;

  // `work` is not owned and must outlive this object.
  explicit GridRunner(SparseWork* work) : work_(work) {}

  // Call once, before Run. Waits for all streams, so that device memory
  // allocated before this call is no longer used by its previous owner. Errors:
  // kResourceExhausted, or CUDA errors.
  absl::Status Allocate(absl::string_view what) {
    PS_ASSIGN_OR_RETURN(state_, AllocateArray<State>(work_->memory(), 1, what));
    PS_ASSIGN_OR_RETURN(barrier_,
                        AllocateArray<GridBarrier>(work_->memory(), 1, what));
    PS_ASSIGN_OR_RETURN(pinned_,
                        AllocatePinnedMemory(sizeof(State), work_->stream()));
    PS_RETURN_IF_ERROR(work_->streams().MakeCurrent());
    PS_RETURN_IF_ERROR(work_->streams().AwaitAll());
    PS_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(
        barrier_.get(), 0, sizeof(GridBarrier), work_->stream()));
    PS_RETURN_IF_CUDA_ERROR(MaxGridWorkBlocks<Work>(&max_blocks_));
    return absl::OkStatus();
  }

  // Queues the work, after the work that layers have queued so far, and returns
  // without waiting. At most num_chunks blocks, at least 1, have something to
  // do.
  absl::Status Queue(const Arguments& arguments, int64_t num_chunks) {
    PS_RETURN_IF_ERROR(work_->Begin());
    const cudaStream_t stream = work_->stream();
    const int num_blocks =
        static_cast<int>(std::min<int64_t>(num_chunks, max_blocks_));
    PS_RETURN_IF_CUDA_ERROR(LaunchGridWork<Work>(
        arguments, num_blocks, state_.get(), barrier_.get(), stream));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(pinned_.get(), state_.get(),
                                            sizeof(State),
                                            cudaMemcpyDeviceToHost, stream));
    return absl::OkStatus();
  }

  // The state that the queued work leaves: on the device, for work queued on
  // the same stream after it; and on the host, valid from when the caller has
  // waited for the stream until the next call of Queue.
  const State* on_device() const { return state_.get(); }
  const State& on_host() const {
    return *static_cast<const State*>(pinned_.get());
  }

  // Queues the work and waits for it.
  absl::StatusOr<const State*> Run(const Arguments& arguments,
                                   int64_t num_chunks) {
    PS_RETURN_IF_ERROR(Queue(arguments, num_chunks));
    PS_RETURN_IF_ERROR(work_->streams().Await(work_->stream()));
    return &on_host();
  }

 private:
  SparseWork* const work_;  // Not owned.
  int max_blocks_ = 1;
  std::shared_ptr<State> state_;          // In device memory.
  std::shared_ptr<GridBarrier> barrier_;  // In device memory.
  std::shared_ptr<void> pinned_;          // The host's copy of the state.
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_RUNNER_H_
