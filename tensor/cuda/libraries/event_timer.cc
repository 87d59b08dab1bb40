#include "tensor/cuda/libraries/event_timer.h"

#include <memory>

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

struct DestroyEvent {
  // Nothing useful can be done about an error here.
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

absl::StatusOr<Event> RecordEvent(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  PS_RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&event, cudaEventDefault));
  Event owner(event);
  PS_RETURN_IF_CUDA_ERROR(cudaEventRecord(event, stream));
  return owner;
}

}  // namespace

TimeWork NewEventTimer(cudaStream_t stream) {
  return [stream](const std::function<absl::Status()>& work)
             -> absl::StatusOr<absl::Duration> {
    PS_ASSIGN_OR_RETURN(const Event start, RecordEvent(stream));
    PS_RETURN_IF_ERROR(work());
    PS_ASSIGN_OR_RETURN(const Event end, RecordEvent(stream));
    PS_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    PS_RETURN_IF_CUDA_ERROR(
        cudaEventElapsedTime(&milliseconds, start.get(), end.get()));
    return absl::Milliseconds(milliseconds);
  };
}

}  // namespace ps
