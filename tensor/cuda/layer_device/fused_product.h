// A product of matrices together with what belongs to a bias.
#ifndef TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_
#define TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_

#include "absl/status/status.h"

namespace ps {

// What is done besides the product c [m, n] = a [m, k] b [k, n].
enum class Epilogue {
  // c[i, j] += bias[j], before it is rounded to the result's type, of which the
  // biases are.
  kAddBias,
  // sums[i] = a[i, 0] + ... + a[i, k - 1], where a is as it is multiplied. They
  // are of the result's type.
  kSumA,
};

// Arrays on the device; as MatrixProduct has them.
struct FusedOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;  // [n]; of kAddBias.
  void* sums = nullptr;        // [m], overwritten; of kSumA.
};

// By a library of the device, which has chosen how when it was planned.
class FusedProduct {
 public:
  virtual ~FusedProduct() = default;

  // Whether the library can do it with operands at these addresses: it may need
  // them aligned.
  virtual bool Takes(const FusedOperands& operands) const = 0;
  // In the order of the device. What it takes. Uses the device's scratch.
  virtual absl::Status Multiply(const FusedOperands& operands) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_FUSED_PRODUCT_H_
