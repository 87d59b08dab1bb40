// Linear layers on CUDA, and their products that involve the bias: computed by
// a library that does both at once if the device has one, else by a product and
// separate kernels.
#ifndef TENSOR_CUDA_NN_CUDA_LINEAR_H_
#define TENSOR_CUDA_NN_CUDA_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// All extents are at least 1. x is [rows, in], y [rows, out], the weights [out,
// in].
struct LinearShape {
  int64_t rows = 0;
  int64_t in = 0;
  int64_t out = 0;
};

// y = x weight' + bias. Factors and result have the device's storage(); the
// bias is floats.
//
// In bfloat16, a library rounds the bias and then the sum of product and bias.
// The kernels round the product, and then its sum with the unrounded bias.
class BiasedProduct {
 public:
  BiasedProduct() = default;
  static absl::StatusOr<BiasedProduct> Plan(LayerDevice* device,
                                            const LinearShape& shape);
  absl::Status Multiply(const void* x, const void* weight, const float* bias,
                        void* y);

 private:
  LayerDevice* device_ = nullptr;  // Not owned.
  MatrixProduct product_;
  std::unique_ptr<FusedProduct> fused_;  // May be null.
  ProductFactor bias_;                   // For the library.
};

// dweight = dy' x, and dbias, the sum of dy's rows. x and dy have the device's
// storage(); the gradients are floats. The kernels add up dbias in double, a
// library in float.
class WeightGradient {
 public:
  WeightGradient() = default;
  static absl::StatusOr<WeightGradient> Plan(LayerDevice* device,
                                             const LinearShape& shape);
  absl::Status Multiply(const void* dy, const void* x, float* dweight,
                        float* dbias);

 private:
  LayerDevice* device_ = nullptr;  // Not owned.
  MatrixProduct product_;
  std::unique_ptr<FusedProduct> fused_;  // May be null.
};

// A linear layer from [rows, in] to `output`, which has `rows` rows; all
// extents are at least 1.
struct LinearRows {
  int64_t rows = 0;
  int64_t in = 0;
  Storage input = Storage::kFloat;
  Shape output;
};
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaLinearRows(
    LayerDevice* device, const LinearRows& rows);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_LINEAR_H_
