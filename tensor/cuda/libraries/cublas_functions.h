// The functions of cuBLAS that this program calls, found when it runs.
//
// Neither linked statically (libcublas_static and libcublasLt_static would make
// every binary some 700 MB larger) nor dynamically: then no program of this
// tree would start where CUDA is not installed.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_

#include <cublas_v2.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct CublasFunctions {
  decltype(&::cublasCreate_v2) create = nullptr;
  decltype(&::cublasDestroy_v2) destroy = nullptr;
  decltype(&::cublasSetStream_v2) set_stream = nullptr;
  decltype(&::cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&::cublasSetMathMode) set_math_mode = nullptr;
  decltype(&::cublasSetAtomicsMode) set_atomics_mode = nullptr;
  decltype(&::cublasSgemm_v2) sgemm = nullptr;
  // Spelt out: C++ has two functions cublasGemmEx.
  cublasStatus_t (*gemm_ex)(cublasHandle_t, cublasOperation_t,
                            cublasOperation_t, int m, int n, int k,
                            const void* alpha, const void* a,
                            cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta,
                            void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

// From the library of the major version that the headers are of. Errors:
// kUnavailable.
absl::StatusOr<CublasFunctions> LoadCublas();

// `call` names the function. kResourceExhausted where memory was short,
// kUnavailable where the device or driver cannot be used, kUnimplemented for
// what the device cannot do, else kInternal.
absl::Status CublasToStatus(cublasStatus_t status, absl::string_view call);

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_FUNCTIONS_H_
