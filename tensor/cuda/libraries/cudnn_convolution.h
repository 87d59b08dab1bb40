// Convolutions by cuDNN: of plain images; or of bfloat16 images with the
// channels last, if the device computes with bfloat16. cuDNN accumulates in
// floats either way, but rounds the gradient of bfloat16 weights to bfloat16.
#ifndef TENSOR_CUDA_LIBRARIES_CUDNN_CONVOLUTION_H_
#define TENSOR_CUDA_LIBRARIES_CUDNN_CONVOLUTION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"
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

struct CudnnConvolutionOptions {
  // If set, only algorithms that give the same bits from call to call are used.
  bool deterministic = true;
  bool allow_tf32 = false;
  // Algorithms that need more of the device's scratch are not used.
  int64_t max_workspace_bytes = int64_t{512} << 20;
};

// Picks the algorithm that cuDNN's heuristics expect to be fastest for each
// pass, and reserves the device's scratch for it. `device` outlives the result.
// Errors: CudnnToStatus; kUnimplemented, naming the pass, if no algorithm meets
// the options.
absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanCudnnConvolution(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const CudnnConvolutionOptions& options,
    const ConvolutionGeometry& geometry);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUDNN_CONVOLUTION_H_
