#include "tensor/cuda/cuda_streams.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create() {
  cudaStream_t stream = nullptr;
  PS_RETURN_IF_CUDA_ERROR(
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return std::unique_ptr<CudaStream>(new CudaStream(stream));
}

// An error here is one of the work before it, which a later call reports.
CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

absl::StatusOr<std::unique_ptr<CudaEvent>> CudaEvent::Create() {
  cudaEvent_t event = nullptr;
  PS_RETURN_IF_CUDA_ERROR(
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return std::unique_ptr<CudaEvent>(new CudaEvent(event));
}

CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

absl::StatusOr<std::unique_ptr<CudaStreams>> CudaStreams::Create(int device) {
  int count = 0;
  PS_RETURN_IF_CUDA_ERROR(cudaGetDeviceCount(&count));
  if (device < 0 || device >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no CUDA device ", device, "; this machine has ", count));
  }
  auto streams = std::unique_ptr<CudaStreams>(new CudaStreams(device));
  PS_RETURN_IF_ERROR(streams->MakeCurrent());
  PS_ASSIGN_OR_RETURN(streams->compute_, CudaStream::Create());
  PS_ASSIGN_OR_RETURN(streams->compression_, CudaStream::Create());
  PS_ASSIGN_OR_RETURN(streams->copies_, CudaStream::Create());
  PS_ASSIGN_OR_RETURN(streams->event_, CudaEvent::Create());
  return streams;
}

absl::Status CudaStreams::MakeCurrent() const {
  PS_RETURN_IF_CUDA_ERROR(cudaSetDevice(device_));
  return absl::OkStatus();
}

absl::Status CudaStreams::Order(cudaStream_t earlier,
                                cudaStream_t later) const {
  PS_RETURN_IF_CUDA_ERROR(cudaEventRecord(event_->get(), earlier));
  PS_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(later, event_->get(), 0));
  return absl::OkStatus();
}

absl::Status CudaStreams::Await(cudaStream_t stream) const {
  PS_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  return absl::OkStatus();
}

absl::Status CudaStreams::AwaitAll() const {
  PS_RETURN_IF_ERROR(Await(compute()));
  PS_RETURN_IF_ERROR(Await(compression()));
  return Await(copies());
}

}  // namespace ps
