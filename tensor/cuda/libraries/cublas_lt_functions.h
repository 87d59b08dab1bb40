// The cuBLASLt functions that this program calls, loaded at run time like those
// of cuBLAS, which cuBLASLt comes with.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_

#include <cublasLt.h>

#include "absl/status/statusor.h"

namespace ps {

// X(member, function) for each of them, as in cudnn_functions.h.
#define PS_CUBLAS_LT_FUNCTIONS(X)                         \
  X(create, cublasLtCreate)                               \
  X(destroy, cublasLtDestroy)                             \
  X(create_product, cublasLtMatmulDescCreate)             \
  X(destroy_product, cublasLtMatmulDescDestroy)           \
  X(set_product, cublasLtMatmulDescSetAttribute)          \
  X(create_layout, cublasLtMatrixLayoutCreate)            \
  X(destroy_layout, cublasLtMatrixLayoutDestroy)          \
  X(create_preference, cublasLtMatmulPreferenceCreate)    \
  X(destroy_preference, cublasLtMatmulPreferenceDestroy)  \
  X(set_preference, cublasLtMatmulPreferenceSetAttribute) \
  X(heuristics, cublasLtMatmulAlgoGetHeuristic)           \
  X(matmul, cublasLtMatmul)

struct CublasLtFunctions {
#define PS_MEMBER(member, function) decltype(&::function) member = nullptr;
  PS_CUBLAS_LT_FUNCTIONS(PS_MEMBER)
#undef PS_MEMBER
};

// Loads the library of the same major version as the headers. Errors:
// kUnavailable. Its functions return cuBLAS's codes; see CublasToStatus.
absl::StatusOr<CublasLtFunctions> LoadCublasLt();

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_
