// The functions of cuBLASLt that this program calls, found when it runs, as
// those of cuBLAS, which comes with it.
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

// From the library of the major version that the headers are of. Errors:
// kUnavailable. Its functions' codes are cuBLAS's: CublasToStatus.
absl::StatusOr<CublasLtFunctions> LoadCublasLt();

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_LT_FUNCTIONS_H_
