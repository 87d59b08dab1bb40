// For machines without the CUDA toolkit.

#include "tensor/cuda/cuda_info.h"

namespace ps {
namespace {

absl::Status NoCuda() {
  return absl::UnavailableError("this build has no CUDA support");
}

}  // namespace

int CudaBuildVersion() { return 0; }

absl::StatusOr<int> CudaDeviceCount() { return NoCuda(); }

absl::Status CudaSelfCheck() { return NoCuda(); }

}  // namespace ps
