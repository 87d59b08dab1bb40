#include "tensor/cuda/libraries/cudnn_functions.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/libraries/dynamic_library.h"

namespace ps {
namespace {

// libcudnn contains no functions: it loads these libraries when one of their
// functions is first called, and ends the process ("Invalid handle. Cannot load
// symbol") where one is missing.
constexpr const char* kParts[] = {"libcudnn_graph", "libcudnn_ops",
                                  "libcudnn_cnn", "libcudnn_adv"};

absl::StatusCode CodeOf(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return absl::StatusCode::kOk;
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return absl::StatusCode::kResourceExhausted;
    case CUDNN_STATUS_NOT_INITIALIZED:
    case CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH:
    case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
      return absl::StatusCode::kUnavailable;
    default:
      return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED
                 ? absl::StatusCode::kUnimplemented
                 : absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<CudnnFunctions> LoadCudnn() {
  PS_ASSIGN_OR_RETURN(const DynamicLibrary library,
                      OpenCudaLibrary("cuDNN", "libcudnn.so", CUDNN_MAJOR));
  for (const char* const part : kParts) {
    PS_RETURN_IF_ERROR(Annotate(
        library.LoadBeside(absl::StrCat(part, ".so.", CUDNN_MAJOR)), "cuDNN"));
  }
  CudnnFunctions f;
#define PS_FIND(member, function) \
  PS_RETURN_IF_ERROR(library.Find(#function, &f.member));
  PS_CUDNN_FUNCTIONS(PS_FIND)
#undef PS_FIND
  return f;
}

absl::Status CudnnToStatus(const CudnnFunctions& cudnn, cudnnStatus_t status,
                           absl::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  return absl::Status(CodeOf(status),
                      absl::StrCat(call, ": ", cudnn.get_error_string(status),
                                   " (", int{status}, ")"));
}

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
