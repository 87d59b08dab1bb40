#include "tensor/cuda/cuda_status.h"

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

absl::string_view CublasName(cublasStatus_t code) {
  switch (code) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
    default:
      return "unknown cuBLAS status";
  }
}

// cuDNN 9 gives each kind of error a thousand of its own.
constexpr int kCudnnKind = 1000;
constexpr int kCudnnInternalHostMemory = 4003;
constexpr int kCudnnInternalDeviceMemory = 4004;

absl::string_view CudnnKindName(int code) {
  switch (code / kCudnnKind) {
    case 1:
      return "not usable";  // Not initialised, versions that do not match.
    case 2:
      return "CUDNN_STATUS_BAD_PARAM";
    case 3:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case 4:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case 5:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "unknown cuDNN status";
  }
}

}  // namespace

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

absl::Status CublasToStatus(cublasStatus_t code, absl::string_view call) {
  if (code == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat(call, ": ", CublasName(code), " (",
                                           static_cast<int>(code), ")");
  if (code == CUBLAS_STATUS_ALLOC_FAILED) {
    return absl::ResourceExhaustedError(message);
  }
  if (code == CUBLAS_STATUS_NOT_INITIALIZED) {
    return absl::UnavailableError(message);
  }
  return absl::InternalError(message);
}

absl::Status CudnnToStatus(int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  const std::string message =
      absl::StrCat(call, ": cuDNN error ", code, ", ", CudnnKindName(code));
  if (code == kCudnnInternalHostMemory || code == kCudnnInternalDeviceMemory) {
    return absl::ResourceExhaustedError(message);
  }
  if (code / kCudnnKind == 1) return absl::UnavailableError(message);
  return absl::InternalError(message);
}

namespace internal {

absl::string_view NameOfCall(absl::string_view expression) {
  return expression.substr(0, expression.find('('));
}

}  // namespace internal
}  // namespace ps
