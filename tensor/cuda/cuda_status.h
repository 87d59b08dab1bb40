// Codes of CUDA as absl::Status, which names the call. Those of cuBLAS and
// cuDNN: tensor/cuda/libraries.
//
// Includes the toolkit's headers: only for libraries that exist where there is
// one. Codes of launchers, which nvcc compiles without Abseil, are cudaError_t,
// too.
#ifndef TENSOR_CUDA_CUDA_STATUS_H_
#define TENSOR_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ps {

// OK for cudaSuccess; else kResourceExhausted for memory, kUnavailable where
// there is no usable device, kInternal for the rest. `call` is what was called,
// as "cudaMalloc" or "launching SiftKernel".
//
// A kernel's own fault is reported by a later call on the same device, and by
// every one after it: the message names the call that saw it.
absl::Status CudaToStatus(cudaError_t error, absl::string_view call);

}  // namespace ps

// Returns from the enclosing function unless `expression`, which calls CUDA,
// gives cudaSuccess. The message has the expression up to its arguments.
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

// "cudaMalloc" of "cudaMalloc(&data, size)".
absl::string_view NameOfCall(absl::string_view expression);

}  // namespace internal
}  // namespace ps

#endif  // TENSOR_CUDA_CUDA_STATUS_H_
