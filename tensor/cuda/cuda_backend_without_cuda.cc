// For machines without the CUDA toolkit.

#include "tensor/cuda/cuda_backend.h"

namespace ps {

absl::StatusOr<std::unique_ptr<Backend>> NewCudaBackend(
    const CudaBackendOptions&) {
  return absl::UnavailableError("this build has no CUDA support");
}

}  // namespace ps
