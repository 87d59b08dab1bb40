#include "tensor/cuda/cuda_input_upload.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/cuda_status.h"

namespace ps {
namespace {

class CudaInputUpload final : public InputUpload {
 public:
  CudaInputUpload(const CudaStreams* streams,
                  std::shared_ptr<MemoryRegion> memory)
      : streams_(streams), memory_(std::move(memory)) {}

  absl::Status Start() {
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    PS_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    PS_ASSIGN_OR_RETURN(received_, CudaEvent::Create());
    for (Half& half : halves_) {
      PS_ASSIGN_OR_RETURN(half.copied, CudaEvent::Create());
    }
    return absl::OkStatus();
  }

  absl::Status Reserve(int64_t n) override {
    if (n <= capacity_) return absl::OkStatus();
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    capacity_ = 0;
    device_.reset();
    const int64_t size_bytes = n * static_cast<int64_t>(sizeof(float));
    for (Half& half : halves_) {
      PS_ASSIGN_OR_RETURN(half.pinned,
                          AllocatePinnedMemory(size_bytes, stream_->get()));
    }
    PS_ASSIGN_OR_RETURN(
        void* const piece,
        memory_->Allocate(size_bytes, absl::StrCat(n, " inputs on the way")));
    device_ = std::shared_ptr<void>(
        piece, [memory = memory_](void* freed) { memory->Free(freed); });
    // Queued work of the memory's previous owner may still use it.
    for (const cudaStream_t earlier :
         {streams_->compute(), streams_->compression()}) {
      PS_RETURN_IF_CUDA_ERROR(cudaEventRecord(received_->get(), earlier));
      PS_RETURN_IF_CUDA_ERROR(
          cudaStreamWaitEvent(stream_->get(), received_->get(), 0));
    }
    capacity_ = n;
    return absl::OkStatus();
  }

  int64_t capacity() const override { return capacity_; }

  absl::Status Send(const float* host, int64_t n) override {
    CHECK_LE(n, capacity_);
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    latest_ = 1 - latest_;
    Half& half = halves_[latest_];
    // The copy of two Sends ago: done long since, if the host waits for
    // anything in each step.
    PS_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(half.copied->get()));
    size_bytes_ = static_cast<size_t>(n) * sizeof(float);
    if (n > 0) std::memcpy(half.pinned.get(), host, size_bytes_);
    PS_RETURN_IF_CUDA_ERROR(
        cudaStreamWaitEvent(stream_->get(), received_->get(), 0));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(device_.get(), half.pinned.get(),
                                            size_bytes_, cudaMemcpyHostToDevice,
                                            stream_->get()));
    PS_RETURN_IF_CUDA_ERROR(
        cudaEventRecord(half.copied->get(), stream_->get()));
    return absl::OkStatus();
  }

  absl::Status Receive(float* to) override {
    PS_RETURN_IF_ERROR(streams_->MakeCurrent());
    const cudaStream_t compute = streams_->compute();
    PS_RETURN_IF_CUDA_ERROR(
        cudaStreamWaitEvent(compute, halves_[latest_].copied->get(), 0));
    PS_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, device_.get(), size_bytes_,
                                            cudaMemcpyDeviceToDevice, compute));
    PS_RETURN_IF_CUDA_ERROR(cudaEventRecord(received_->get(), compute));
    return absl::OkStatus();
  }

 private:
  struct Half {
    std::unique_ptr<CudaEvent> copied;  // To the device.
    std::shared_ptr<void> pinned;
  };

  const CudaStreams* const streams_;  // Not owned.
  const std::shared_ptr<MemoryRegion> memory_;
  std::unique_ptr<CudaStream> stream_;   // Outlives the pinned memory.
  std::unique_ptr<CudaEvent> received_;  // From device_, by the layers' stream.
  Half halves_[2];
  std::shared_ptr<void> device_;
  int64_t capacity_ = 0;
  int latest_ = 0;         // Which half the latest Send used.
  size_t size_bytes_ = 0;  // Of the latest Send.
};

}  // namespace

absl::StatusOr<std::unique_ptr<InputUpload>> NewCudaInputUpload(
    const CudaStreams* streams, std::shared_ptr<MemoryRegion> memory) {
  auto upload = std::make_unique<CudaInputUpload>(streams, std::move(memory));
  PS_RETURN_IF_ERROR(upload->Start());
  return upload;
}

}  // namespace ps
