// The cuDNN functions that this program calls, loaded at run time, so that a
// binary starts and can train where cuDNN is not installed.
#ifndef TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_

#include <cudnn.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct CudnnFunctions {
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetErrorString) get_error_string = nullptr;

  decltype(&::cudnnCreateTensorDescriptor) create_tensor = nullptr;
  decltype(&::cudnnDestroyTensorDescriptor) destroy_tensor = nullptr;
  decltype(&::cudnnSetTensor4dDescriptor) set_tensor = nullptr;
  decltype(&::cudnnCreateFilterDescriptor) create_filter = nullptr;
  decltype(&::cudnnDestroyFilterDescriptor) destroy_filter = nullptr;
  decltype(&::cudnnSetFilter4dDescriptor) set_filter = nullptr;
  decltype(&::cudnnCreateConvolutionDescriptor) create_convolution = nullptr;
  decltype(&::cudnnDestroyConvolutionDescriptor) destroy_convolution = nullptr;
  decltype(&::cudnnSetConvolution2dDescriptor) set_convolution = nullptr;
  decltype(&::cudnnSetConvolutionMathType) set_math_type = nullptr;
  decltype(&::cudnnSetConvolutionGroupCount) set_group_count = nullptr;

  decltype(&::cudnnGetConvolutionForwardAlgorithm_v7) forward_algorithms =
      nullptr;
  decltype(&::cudnnGetConvolutionBackwardDataAlgorithm_v7)
      backward_data_algorithms = nullptr;
  decltype(&::cudnnGetConvolutionBackwardFilterAlgorithm_v7)
      backward_filter_algorithms = nullptr;
  decltype(&::cudnnGetConvolutionForwardWorkspaceSize) forward_workspace =
      nullptr;
  decltype(&::cudnnGetConvolutionBackwardDataWorkspaceSize)
      backward_data_workspace = nullptr;
  decltype(&::cudnnGetConvolutionBackwardFilterWorkspaceSize)
      backward_filter_workspace = nullptr;
  decltype(&::cudnnConvolutionForward) forward = nullptr;
  decltype(&::cudnnConvolutionBackwardData) backward_data = nullptr;
  decltype(&::cudnnConvolutionBackwardFilter) backward_filter = nullptr;
};

// Loads the library of the same major version as the headers. Errors:
// kUnavailable.
absl::StatusOr<CudnnFunctions> LoadCudnn();

// `call` names the function. The status codes are those of CublasToStatus.
absl::Status CudnnToStatus(const CudnnFunctions& cudnn, cudnnStatus_t status,
                           absl::string_view call);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_
