#include "tensor/cuda/cuda_streams.h"

#include <utility>

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

// An error here is from earlier work, and a later call reports it.
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

absl::Status CudaStreams::OrderAfterLayers(cudaStream_t later) const {
  return overlap_ ? absl::OkStatus() : Order(compute(), later);
}

absl::Status CudaStreams::OrderLayersAfterCompression() const {
  return overlap_ ? absl::OkStatus() : Order(compression(), compute());
}

absl::Status CudaStreams::StartOverlap() {
  overlap_ = true;
  MutexLock lock(&mu_);
  num_marks_ = 0;
  return absl::OkStatus();
}

absl::Status CudaStreams::EndOverlap() {
  overlap_ = false;
  PS_RETURN_IF_ERROR(MakeCurrent());
  // There is no need to order copies: each one was waited for.
  return OrderLayersAfterCompression();
}

absl::StatusOr<int64_t> CudaStreams::Mark() {
  PS_RETURN_IF_ERROR(MakeCurrent());
  MutexLock lock(&mu_);
  if (num_marks_ == marks_.size()) {
    PS_ASSIGN_OR_RETURN(auto event, CudaEvent::Create());
    marks_.push_back(std::move(event));
  }
  PS_RETURN_IF_CUDA_ERROR(
      cudaEventRecord(marks_[num_marks_]->get(), compute()));
  return static_cast<int64_t>(num_marks_++);
}

absl::Status CudaStreams::CompressAfter(int64_t mark) const {
  cudaEvent_t event = nullptr;
  {
    MutexLock lock(&mu_);
    if (mark < 0 || mark >= static_cast<int64_t>(num_marks_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "mark ", mark, "; there are ", num_marks_, " in this overlap"));
    }
    event = marks_[mark]->get();
  }
  PS_RETURN_IF_ERROR(MakeCurrent());
  // Copies are already ordered after compression.
  PS_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(compression(), event, 0));
  return absl::OkStatus();
}

absl::Status CudaStreams::Await(cudaStream_t stream) const {
  PS_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream));
  return absl::OkStatus();
}

absl::Status CudaStreams::AwaitEnd() const {
  absl::Status status = MakeCurrent();
  for (cudaStream_t stream : {compute(), compression(), copies()}) {
    status.Update(Await(stream));
  }
  return status;
}

absl::Status CudaStreams::AwaitAll() const {
  if (!overlap_) PS_RETURN_IF_ERROR(Await(compute()));
  PS_RETURN_IF_ERROR(Await(compression()));
  return Await(copies());
}

}  // namespace ps
