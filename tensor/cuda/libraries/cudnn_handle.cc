#include "tensor/cuda/libraries/cudnn_handle.h"

#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::shared_ptr<CudnnHandle>> CudnnHandle::Create(
    const CudnnFunctions& cudnn, cudaStream_t stream) {
  std::shared_ptr<CudnnHandle> handle(new CudnnHandle(cudnn));
  PS_RETURN_IF_ERROR(
      CudnnToStatus(cudnn, cudnn.create(&handle->handle_), "cudnnCreate"));
  PS_RETURN_IF_ERROR(CudnnToStatus(
      cudnn, cudnn.set_stream(handle->handle_, stream), "cudnnSetStream"));
  return handle;
}

absl::StatusOr<std::shared_ptr<CudnnHandle>> NewCudnnHandle(
    cudaStream_t stream) {
  PS_ASSIGN_OR_RETURN(const CudnnFunctions cudnn, LoadCudnn());
  return CudnnHandle::Create(cudnn, stream);
}

CudnnHandle::~CudnnHandle() {
  // Nothing useful can be done about an error here.
  if (handle_ != nullptr) cudnn_.destroy(handle_);
}

}  // namespace ps
