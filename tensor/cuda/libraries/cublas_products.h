// Row-major products of matrices by cuBLAS.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_PRODUCTS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/libraries/cublas_functions.h"

namespace ps {

struct CublasOptions {
  cudaStream_t stream = nullptr;
  // Also keeps cuBLAS from adding up by atomics.
  bool deterministic = true;
  bool allow_tf32 = false;
  // Memory of the device that products may use, aligned to 256 bytes; outlives
  // the object. Without one of its own a handle shares a pool, from which a
  // product's bits may depend on what other streams do.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

// One thread at a time uses it.
class CublasProducts {
 public:
  // For the current device. Errors: CublasToStatus.
  static absl::StatusOr<std::unique_ptr<CublasProducts>> Create(
      const CublasFunctions& cublas, const CublasOptions& options);
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  // In the order of the stream. Errors: kInvalidArgument for an extent of 2^31
  // or more; CublasToStatus.
  absl::Status Multiply(const MatrixProduct& product);

 private:
  explicit CublasProducts(const CublasFunctions& cublas) : cublas_(cublas) {}

  const CublasFunctions cublas_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_PRODUCTS_H_
