// A matrix product fused with the computation of a bias or its gradient.
#ifndef TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_
#define TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_

#include "absl/status/status.h"

namespace ps {

// The computation fused with the product c [m, n] = a [m, k] b [k, n].
enum class Epilogue {
  // c[i, j] += bias[j], before rounding to the result's type, which is also the
  // type of the biases.
  kAddBias,
  // sums[i] = a[i, 0] + ... + a[i, k - 1], where a is as in the product, after
  // any transposition. The sums have the result's type.
  kSumA,
};

// Arrays on the device, laid out as in MatrixProduct.
struct FusedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;  // [n]; for kAddBias.
  void* sums = nullptr;        // [m], overwritten; for kSumA.
};

// Computed by a library of the device, which chose an algorithm at planning.
class FusedProduct {
 public:
  virtual ~FusedProduct() = default;

  // Whether the library supports operands at these addresses, which may need to
  // be aligned.
  virtual bool Takes(const FusedOperands& operands) const = 0;
  // Runs in the order of the device. The operands must be ones that Takes
  // accepts. Uses the device's scratch.
  virtual absl::Status Multiply(const FusedOperands& operands) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_
