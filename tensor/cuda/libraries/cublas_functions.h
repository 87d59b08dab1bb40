// The functions of cuBLAS that this program calls, loaded at run time.
//
// They are not linked statically, since libcublas_static and
// libcublasLt_static, which it needs, would make every binary about 700 MB
// larger. They are not linked dynamically either, since then no program of this
// tree would start where CUDA is not installed.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_

#include <cublas_v2.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

// X(member, function) for each of them except gemm_ex, as in cudnn_functions.h.
#define PS_CUBLAS_FUNCTIONS(X)              \
  X(create, cublasCreate_v2)                \
  X(destroy, cublasDestroy_v2)              \
  X(set_stream, cublasSetStream_v2)         \
  X(set_workspace, cublasSetWorkspace_v2)   \
  X(set_math_mode, cublasSetMathMode)       \
  X(set_atomics_mode, cublasSetAtomicsMode) \
  X(sgemm, cublasSgemm_v2)

struct CublasFunctions {
#define PS_MEMBER(member, function) decltype(&::function) member = nullptr;
  PS_CUBLAS_FUNCTIONS(PS_MEMBER)
#undef PS_MEMBER
  // Spelt out, since C++ has two overloads of cublasGemmEx.
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t,
                            cublasOperation_t, int m, int n, int k,
                            const void* alpha, const void* a,
                            cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta,
                            void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

// Loads the library of the same major version as the headers. Errors:
// kUnavailable.
absl::StatusOr<CublasFunctions> LoadCublas();

// `call` names the function. Returns kResourceExhausted if memory was
// short, kUnavailable if the device or driver cannot be used, kUnimplemented
// for what the device does not support, else kInternal.
absl::Status CublasToStatus(cublasStatus_t status, absl::string_view call);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_
