#include "tensor/cuda/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace ps {

absl::Status CudaToStatus(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat(call, ": ", cudaGetErrorString(error), " (",
                   cudaGetErrorName(error), ")");
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorDevicesUnavailable:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

namespace internal {

absl::string_view NameOfCall(absl::string_view expression) {
  return expression.substr(0, expression.find('('));
}

}  // namespace internal
}  // namespace ps
