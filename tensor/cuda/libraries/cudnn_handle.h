// cuDNN, ready for work on a stream.
#ifndef TENSOR_CUDA_LIBRARIES_CUDNN_HANDLE_H_
#define TENSOR_CUDA_LIBRARIES_CUDNN_HANDLE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/libraries/cudnn_functions.h"

namespace ps {

// A cuDNN handle that destroys itself. Used by one thread at a time.
class CudnnHandle {
 public:
  // For the current device. Errors: CudnnToStatus.
  static absl::StatusOr<std::shared_ptr<CudnnHandle>> Create(
      const CudnnFunctions& cudnn, cudaStream_t stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  const CudnnFunctions& functions() const { return cudnn_; }
  cudnnHandle_t get() const { return handle_; }

 private:
  explicit CudnnHandle(const CudnnFunctions& cudnn) : cudnn_(cudnn) {}

  const CudnnFunctions cudnn_;
  cudnnHandle_t handle_ = nullptr;
};

// Loads cuDNN and makes a handle for the current device. Errors: those of
// LoadCudnn and CudnnHandle::Create.
absl::StatusOr<std::shared_ptr<CudnnHandle>> NewCudnnHandle(
    cudaStream_t stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUDNN_HANDLE_H_
