// Row-major products with an epilogue, computed by cuBLASLt.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CUBLAS_LT_PRODUCTS_H_
#define TENSOR_CUDA_LAYER_DEVICE_CUBLAS_LT_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/libraries/cublas_functions.h"
#include "tensor/cuda/libraries/trials.h"

namespace ps {

struct CublasLtOptions {
  cudaStream_t stream = nullptr;
  // If set, the parts of a sum are added only in a fixed order, or the sum is
  // not split.
  bool deterministic = true;
  // If set, and bits may vary, the fastest algorithm of each product is used.
  // Not owned; must outlive the planning.
  Trials* trials = nullptr;
  bool allow_tf32 = false;
  // Algorithms that need more of the device's scratch are not used. The value
  // is NVIDIA's recommendation for Hopper ("cuBLAS library", 2.1.8,
  // cublasSetWorkspace).
  int64_t max_workspace_bytes = int64_t{32} << 20;
};

// A cuBLASLt handle that destroys itself.
class CublasLtHandle;

// This object and everything it plans are used by one thread at a time.
class CublasLtProducts {
 public:
  // For the current device. Errors: CublasToStatus.
  static absl::StatusOr<std::unique_ptr<CublasLtProducts>> Create(
      const CublasLtFunctions& cublas_lt, const CublasLtOptions& options);

  // See LayerDevice::PlanFusedProduct. Picks the algorithm that cuBLASLt's
  // heuristics expect to be fastest, or the one that was fastest in trials,
  // once for operands that are aligned to 16 bytes and once for any, and
  // reserves the device's scratch for it: Multiply allocates nothing, and can
  // be captured in a graph. `device` outlives the result. Null if there is no
  // algorithm. The first product without any algorithm, or without one for
  // operands at any address, is logged. Errors: kInvalidArgument for extents
  // below 1 or a product that accumulates; CublasToStatus.
  absl::StatusOr<std::unique_ptr<FusedProduct>> Plan(
      LayerDevice* device, const MatrixProduct& product, Epilogue epilogue);

 private:
  CublasLtProducts(std::shared_ptr<CublasLtHandle> handle,
                   const CublasLtOptions& options)
      : handle_(std::move(handle)), options_(options) {}

  const std::shared_ptr<CublasLtHandle> handle_;  // Shared by all products.
  const CublasLtOptions options_;
  // Whether a product without an algorithm has been logged.
  bool has_said_ = false;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUBLAS_LT_PRODUCTS_H_
