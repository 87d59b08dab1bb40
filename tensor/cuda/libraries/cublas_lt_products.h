// Row-major products with an epilogue by cuBLASLt.
#ifndef TENSOR_CUDA_LIBRARIES_CUBLAS_LT_PRODUCTS_H_
#define TENSOR_CUDA_LIBRARIES_CUBLAS_LT_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/fused_product.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/libraries/cublas_lt_functions.h"

namespace ps {

struct CublasLtOptions {
  cudaStream_t stream = nullptr;
  // Parts of a sum are added in a fixed order only, or it is not split.
  bool deterministic = true;
  bool allow_tf32 = false;
  // Algorithms that need more of the device's scratch are not taken. What
  // NVIDIA recommends for Hopper ("cuBLAS library", 2.1.8, cublasSetWorkspace).
  int64_t max_workspace_bytes = int64_t{32} << 20;
};

// A handle of cuBLASLt that destroys itself.
class CublasLtHandle;

// One thread at a time uses it and what it has planned.
class CublasLtProducts {
 public:
  // For the current device. Errors: CublasToStatus.
  static absl::StatusOr<std::unique_ptr<CublasLtProducts>> Create(
      const CublasLtFunctions& cublas_lt, const CublasLtOptions& options);

  // See LayerDevice::PlanFusedProduct. Picks the algorithm that cuBLASLt's
  // heuristics expect to be fastest, once for operands that are aligned to 16
  // bytes and once for any, and reserves the device's scratch for it: Multiply
  // allocates nothing, and can be captured by a graph. `device` outlives the
  // result. Null where there is no algorithm. The first product for which there
  // is none, or none for operands at any address, is said in the log. Errors:
  // kInvalidArgument for extents below 1 or a product that accumulates;
  // CublasToStatus.
  absl::StatusOr<std::unique_ptr<FusedProduct>> Plan(
      LayerDevice* device, const MatrixProduct& product, Epilogue epilogue);

 private:
  CublasLtProducts(std::shared_ptr<CublasLtHandle> handle,
                   const CublasLtOptions& options)
      : handle_(std::move(handle)), options_(options) {}

  const std::shared_ptr<CublasLtHandle> handle_;  // Of all products.
  const CublasLtOptions options_;
  bool has_said_ = false;  // That there was no algorithm.
};

}  // namespace ps

#endif  // TENSOR_CUDA_LIBRARIES_CUBLAS_LT_PRODUCTS_H_
