#include "tensor/cuda/libraries/cudnn_functions.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/libraries/dynamic_library.h"

// Looks for "libcudnn.so.9", also where the toolkit's installer puts it.
#define PS_STRING_INNER_(x) #x
#define PS_STRING_(x) PS_STRING_INNER_(x)
#define PS_CUDNN_FILE_(name) name ".so." PS_STRING_(CUDNN_MAJOR)

namespace ps {
namespace {

constexpr const char* kNames[] = {
    PS_CUDNN_FILE_("libcudnn"),
    PS_CUDNN_FILE_("/usr/local/cuda/lib64/libcudnn")};

// libcudnn contains no functions: it loads these libraries when one of their
// functions is first called, and ends the process ("Invalid handle. Cannot load
// symbol") where one is missing.
constexpr const char* kParts[] = {
    PS_CUDNN_FILE_("libcudnn_graph"), PS_CUDNN_FILE_("libcudnn_ops"),
    PS_CUDNN_FILE_("libcudnn_cnn"), PS_CUDNN_FILE_("libcudnn_adv")};

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
  const absl::StatusOr<DynamicLibrary> opened = DynamicLibrary::Open(kNames);
  if (!opened.ok()) return Annotate(opened.status(), "cuDNN");
  const DynamicLibrary& library = *opened;
  for (const char* const part : kParts) {
    PS_RETURN_IF_ERROR(Annotate(library.LoadBeside(part), "cuDNN"));
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

}  // namespace ps
