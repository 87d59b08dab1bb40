// Row-major matrix products, computed by cuBLAS.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CUBLAS_PRODUCTS_H_
#define TENSOR_CUDA_LAYER_DEVICE_CUBLAS_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/libraries/cublas_functions.h"

namespace ps {

struct CublasOptions {
  cudaStream_t stream = nullptr;
  // If set, cuBLAS also does not use atomic additions.
  bool deterministic = true;
  bool allow_tf32 = false;
  // Device memory that products may use, aligned to 256 bytes; must outlive the
  // object. A handle without its own workspace shares a pool, and then a
  // product's bits may depend on the work of other streams.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

// Used by one thread at a time.
class CublasProducts {
 public:
  // Works on the current device. Errors: CublasToStatus.
  static absl::StatusOr<std::unique_ptr<CublasProducts>> Create(
      const CublasFunctions& cublas, const CublasOptions& options);
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  // Runs in the order of the stream. Errors: kInvalidArgument for an extent of
  // 2^31 or more; CublasToStatus.
  absl::Status Multiply(const MatrixProduct& product);

 private:
  explicit CublasProducts(const CublasFunctions& cublas) : cublas_(cublas) {}

  const CublasFunctions cublas_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUBLAS_PRODUCTS_H_
