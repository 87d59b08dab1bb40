// Runs a grid's work and fetches the state that it leaves: one launch, one
// wait. For files between the host and the device; includes CUDA's headers.
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

// A Work is said in grid_launch.h. One thread at a time.
template <class Work>
class GridRunner {
 public:
  using Arguments = typename Work::Arguments;
  using State = typename Work::State;

  // `work` is not owned and outlives this.
  explicit GridRunner(SparseWork* work) : work_(work) {}

  // To be called once, before Run. Memory that is taken from the device in the
  // meantime, too, is nobody else's afterwards: waits for all streams. Errors:
  // kResourceExhausted, or CUDA's.
  absl::Status Allocate(absl::string_view what) {
    PS_ASSIGN_OR_RETURN(state_, AllocateArray<State>(work_->memory(), 1, what));
    PS_ASSIGN_OR_RETURN(pinned_, AllocatePinnedMemory(sizeof(State)));
    PS_RETURN_IF_ERROR(work_->streams().MakeCurrent());
    PS_RETURN_IF_ERROR(work_->streams().AwaitAll());
    PS_RETURN_IF_CUDA_ERROR(MaxGridWorkBlocks<Work>(&max_blocks_));
    return absl::OkStatus();
  }

  // After what layers have queued by now. No more than num_chunks blocks, at
  // least 1, have something to do. The result is valid until the next call.
  absl::StatusOr<const State*> Run(const Arguments& arguments,
                                   int64_t num_chunks) {
    PS_RETURN_IF_ERROR(work_->Begin());
    const cudaStream_t stream = work_->stream();
    const int num_blocks =
        static_cast<int>(std::min<int64_t>(num_chunks, max_blocks_));
    PS_RETURN_IF_CUDA_ERROR(
        LaunchGridWork<Work>(arguments, num_blocks, state_.get(), stream));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(pinned_.get(), state_.get(),
                                            sizeof(State),
                                            cudaMemcpyDeviceToHost, stream));
    PS_RETURN_IF_ERROR(work_->streams().Await(stream));
    return static_cast<const State*>(pinned_.get());
  }

 private:
  SparseWork* const work_;  // Not owned.
  int max_blocks_ = 1;
  std::shared_ptr<State> state_;  // The device's.
  std::shared_ptr<void> pinned_;  // State, for the host.
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_GRID_RUNNER_H_
