// The CUDA backend, for code of every build. A build with the toolkit links the
// backend, which registers itself (cuda_layers.cc). This header has no CUDA
// types.
#ifndef TENSOR_CUDA_CUDA_SUPPORT_H_
#define TENSOR_CUDA_CUDA_SUPPORT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/cuda/cuda_backend.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"

namespace ps {

struct CudaSupport {
  // The version of the toolkit that this build was made with: 1000 major + 10
  // minor, such as 13000 for 13.0.
  int build_version = 0;
  // See cuda_info.h, cuda_layers.h and cuda_backend.h.
  absl::StatusOr<int> (*device_count)() = nullptr;
  absl::Status (*self_check)() = nullptr;
  CudaLayerFactory (*layers)(const CudaNnOptions& options) = nullptr;
  absl::StatusOr<std::unique_ptr<Backend>> (*new_backend)(
      const CudaBackendOptions& options) = nullptr;
};

// Null in a build without the toolkit.
const CudaSupport* FindCudaSupport();

// Before main; returns true.
bool RegisterCudaSupport(const CudaSupport& support);

}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_SUPPORT_H_
