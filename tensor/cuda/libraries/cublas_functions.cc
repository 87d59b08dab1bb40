#include "tensor/cuda/libraries/cublas_functions.h"

#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/libraries/dynamic_library.h"

namespace ps {
namespace {

using GemmEx = decltype(CublasFunctions::gemm_ex);
static_assert(
    std::is_same_v<GemmEx, decltype(static_cast<GemmEx>(&::cublasGemmEx))>,
    "cuBLAS has a cublasGemmEx of another type");

const char* NameOf(cublasStatus_t status) {
  switch (status) {
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
  }
  return "unknown";
}

absl::StatusCode CodeOf(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return absl::StatusCode::kOk;
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::StatusCode::kResourceExhausted;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return absl::StatusCode::kUnavailable;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<CublasFunctions> LoadCublas() {
  PS_ASSIGN_OR_RETURN(
      const DynamicLibrary library,
      OpenCudaLibrary("cuBLAS", "libcublas.so", CUBLAS_VER_MAJOR));
  CublasFunctions f;
#define PS_FIND(member, function) \
  PS_RETURN_IF_ERROR(library.Find(#function, &f.member));
  PS_CUBLAS_FUNCTIONS(PS_FIND)
#undef PS_FIND
  PS_RETURN_IF_ERROR(library.Find("cublasGemmEx", &f.gemm_ex));
  return f;
}

absl::Status CublasToStatus(cublasStatus_t status, absl::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::Status(CodeOf(status), absl::StrCat(call, ": ", NameOf(status),
                                                   " (", int{status}, ")"));
}

}  // namespace ps
