// The cuDNN functions that this program calls, loaded at run time, so that a
// binary starts and can train networks without convolutions where cuDNN is not
// installed; and a handle for work on a stream.
#ifndef TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_

#include <cudnn.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// X(member, function) for each of them, so that the type of a member and the
// name under which it is looked up cannot differ.
#define PS_CUDNN_FUNCTIONS(X)                                                  \
  X(create, cudnnCreate)                                                       \
  X(destroy, cudnnDestroy)                                                     \
  X(set_stream, cudnnSetStream)                                                \
  X(get_error_string, cudnnGetErrorString)                                     \
  X(create_tensor, cudnnCreateTensorDescriptor)                                \
  X(destroy_tensor, cudnnDestroyTensorDescriptor)                              \
  X(set_tensor, cudnnSetTensor4dDescriptor)                                    \
  X(create_filter, cudnnCreateFilterDescriptor)                                \
  X(destroy_filter, cudnnDestroyFilterDescriptor)                              \
  X(set_filter, cudnnSetFilter4dDescriptor)                                    \
  X(create_convolution, cudnnCreateConvolutionDescriptor)                      \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor)                    \
  X(set_convolution, cudnnSetConvolution2dDescriptor)                          \
  X(set_math_type, cudnnSetConvolutionMathType)                                \
  X(set_group_count, cudnnSetConvolutionGroupCount)                            \
  X(forward_algorithms, cudnnGetConvolutionForwardAlgorithm_v7)                \
  X(backward_data_algorithms, cudnnGetConvolutionBackwardDataAlgorithm_v7)     \
  X(backward_filter_algorithms, cudnnGetConvolutionBackwardFilterAlgorithm_v7) \
  X(find_forward, cudnnFindConvolutionForwardAlgorithmEx)                      \
  X(find_backward_data, cudnnFindConvolutionBackwardDataAlgorithmEx)           \
  X(find_backward_filter, cudnnFindConvolutionBackwardFilterAlgorithmEx)       \
  X(forward_workspace, cudnnGetConvolutionForwardWorkspaceSize)                \
  X(backward_data_workspace, cudnnGetConvolutionBackwardDataWorkspaceSize)     \
  X(backward_filter_workspace, cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  X(forward, cudnnConvolutionForward)                                          \
  X(backward_data, cudnnConvolutionBackwardData)                               \
  X(backward_filter, cudnnConvolutionBackwardFilter)                           \
  X(create_rnn, cudnnCreateRNNDescriptor)                                      \
  X(destroy_rnn, cudnnDestroyRNNDescriptor)                                    \
  X(set_rnn, cudnnSetRNNDescriptor_v8)                                         \
  X(create_rnn_data, cudnnCreateRNNDataDescriptor)                             \
  X(destroy_rnn_data, cudnnDestroyRNNDataDescriptor)                           \
  X(set_rnn_data, cudnnSetRNNDataDescriptor)                                   \
  X(set_tensor_nd, cudnnSetTensorNdDescriptor)                                 \
  X(rnn_weight_space_size, cudnnGetRNNWeightSpaceSize)                         \
  X(rnn_weight_params, cudnnGetRNNWeightParams)                                \
  X(rnn_temp_space_sizes, cudnnGetRNNTempSpaceSizes)                           \
  X(rnn_forward, cudnnRNNForward)                                              \
  X(rnn_backward_data, cudnnRNNBackwardData_v8)                                \
  X(rnn_backward_weights, cudnnRNNBackwardWeights_v8)

struct CudnnFunctions {
#define PS_MEMBER(member, function) decltype(&::function) member = nullptr;
  PS_CUDNN_FUNCTIONS(PS_MEMBER)
#undef PS_MEMBER
};

// Loads the library of the same major version as the headers. Errors:
// kUnavailable.
absl::StatusOr<CudnnFunctions> LoadCudnn();

// `call` names the function. The status codes are those of CublasToStatus.
absl::Status CudnnToStatus(const CudnnFunctions& cudnn, cudnnStatus_t status,
                           absl::string_view call);

// A cuDNN handle that destroys itself. Used by one thread at a time.
class CudnnHandle {
 public:
  // For the current device. Errors: CudnnToStatus.
  static absl::StatusOr<std::shared_ptr<CudnnHandle>> Create(
      const CudnnFunctions& cudnn, cudaStream_t stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  const CudnnFunctions& functions() const { return cudnn_; }
  cudnnHandle_t get() const { return handle_; }

 private:
  explicit CudnnHandle(const CudnnFunctions& cudnn) : cudnn_(cudnn) {}

  const CudnnFunctions cudnn_;
  cudnnHandle_t handle_ = nullptr;
};

// Loads cuDNN and makes a handle for the current device. Errors: those of
// LoadCudnn and CudnnHandle::Create.
absl::StatusOr<std::shared_ptr<CudnnHandle>> NewCudnnHandle(
    cudaStream_t stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUDNN_FUNCTIONS_H_
