// CUDA's error codes as absl::Status, which names the call. The codes of cuBLAS
// and cuDNN are converted in tensor/cuda/libraries.
//
// Includes the toolkit's headers, so only for libraries that are built only
// with it. Launchers, which nvcc compiles without Abseil, also return
// cudaError_t codes.
#ifndef TENSOR_CUDA_CUDA_STATUS_H_
#define TENSOR_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// OK for cudaSuccess; else kResourceExhausted for memory, kUnavailable if there
// is no usable device, kInternal for the rest. `call` names what was called,
// such as "cudaMalloc" or "launching PassKernel".
//
// An error inside a kernel is reported by a later call on the same device, and
// by every call after that; the message names the call that saw it.
absl::Status CudaToStatus(cudaError_t error, absl::string_view call);

}  // namespace ps

// Returns from the enclosing function unless `expression`, a call of CUDA,
// returns cudaSuccess. The message has the expression up to its arguments.
#define PS_RETURN_IF_CUDA_ERROR(expression)                               \
  do {                                                                    \
    const cudaError_t ps_error_ = (expression);                           \
    if (ps_error_ != cudaSuccess) {                                       \
      return ::ps::CudaToStatus(ps_error_,                                \
                                ::ps::internal::NameOfCall(#expression)); \
    }                                                                     \
  } while (false)

namespace ps {
namespace internal {

// Returns "cudaMalloc" for "cudaMalloc(&data, size)".
absl::string_view NameOfCall(absl::string_view expression);

}  // namespace internal
}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_STATUS_H_
