// The cuBLASLt functions that this program calls, loaded at run time like those
// of cuBLAS, which cuBLASLt comes with.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_

#include <cublasLt.h>

#include "absl/status/statusor.h"

namespace ps {

struct CublasLtFunctions {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;

  decltype(&::cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) destroy_product = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;

  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristics = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
};

// Loads the library of the same major version as the headers. Errors:
// kUnavailable. Its functions return cuBLAS's codes; see CublasToStatus.
absl::StatusOr<CublasLtFunctions> LoadCublasLt();

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_
