#include "tensor/cuda/libraries/cudnn_functions.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/libraries/dynamic_library.h"

// Looks for "libcudnn.so.9", also where the toolkit's installer puts it.
#define PS_STRING_INNER_(x) #x
#define PS_STRING_(x) PS_STRING_INNER_(x)
#define PS_CUDNN_FILE_ "libcudnn.so." PS_STRING_(CUDNN_MAJOR)

namespace ps {
namespace {

constexpr const char* kNames[] = {PS_CUDNN_FILE_,
                                  "/usr/local/cuda/lib64/" PS_CUDNN_FILE_};

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
  CudnnFunctions f;
  PS_RETURN_IF_ERROR(library.Find("cudnnCreate", &f.create));
  PS_RETURN_IF_ERROR(library.Find("cudnnDestroy", &f.destroy));
  PS_RETURN_IF_ERROR(library.Find("cudnnSetStream", &f.set_stream));
  PS_RETURN_IF_ERROR(library.Find("cudnnGetErrorString", &f.get_error_string));

  PS_RETURN_IF_ERROR(
      library.Find("cudnnCreateTensorDescriptor", &f.create_tensor));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnDestroyTensorDescriptor", &f.destroy_tensor));
  PS_RETURN_IF_ERROR(library.Find("cudnnSetTensor4dDescriptor", &f.set_tensor));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnCreateFilterDescriptor", &f.create_filter));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnDestroyFilterDescriptor", &f.destroy_filter));
  PS_RETURN_IF_ERROR(library.Find("cudnnSetFilter4dDescriptor", &f.set_filter));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnCreateConvolutionDescriptor", &f.create_convolution));
  PS_RETURN_IF_ERROR(library.Find("cudnnDestroyConvolutionDescriptor",
                                  &f.destroy_convolution));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnSetConvolution2dDescriptor", &f.set_convolution));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnSetConvolutionMathType", &f.set_math_type));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnSetConvolutionGroupCount", &f.set_group_count));

  PS_RETURN_IF_ERROR(library.Find("cudnnGetConvolutionForwardAlgorithm_v7",
                                  &f.forward_algorithms));
  PS_RETURN_IF_ERROR(library.Find("cudnnGetConvolutionBackwardDataAlgorithm_v7",
                                  &f.backward_data_algorithms));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                   &f.backward_filter_algorithms));
  PS_RETURN_IF_ERROR(library.Find("cudnnGetConvolutionForwardWorkspaceSize",
                                  &f.forward_workspace));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnGetConvolutionBackwardDataWorkspaceSize",
                   &f.backward_data_workspace));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnGetConvolutionBackwardFilterWorkspaceSize",
                   &f.backward_filter_workspace));
  PS_RETURN_IF_ERROR(library.Find("cudnnConvolutionForward", &f.forward));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnConvolutionBackwardData", &f.backward_data));
  PS_RETURN_IF_ERROR(
      library.Find("cudnnConvolutionBackwardFilter", &f.backward_filter));
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
