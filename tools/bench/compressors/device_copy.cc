#include "tools/bench/compressors/device_copy.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "common/status_macros.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/cuda_streams.h"

namespace ps {
namespace {

class StreamCopier final : public DeviceCopier {
 public:
  explicit StreamCopier(std::unique_ptr<CudaStream> stream)
      : stream_(std::move(stream)) {}

  absl::Status Copy(const Tensor& from, Tensor* to) override {
    PS_RETURN_IF_CUDA_ERROR(
        cudaMemcpyAsync(to->data(), from.data(), from.size() * sizeof(float),
                        cudaMemcpyDeviceToDevice, stream_->get()));
    return absl::OkStatus();
  }

  absl::Status Await() override {
    PS_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(stream_->get()));
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<CudaStream> stream_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceCopier>> NewDeviceCopier() {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<CudaStream> stream, CudaStream::Create());
  return std::make_unique<StreamCopier>(std::move(stream));
}

}  // namespace ps
