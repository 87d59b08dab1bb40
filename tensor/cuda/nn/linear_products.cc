#include "tensor/cuda/nn/linear_products.h"

#include "common/status_macros.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/channel_sums.h"

namespace ps {

absl::StatusOr<BiasedProduct> BiasedProduct::Plan(LayerDevice* device,
                                                  const LinearShape& shape) {
  BiasedProduct planned;
  planned.device_ = device;
  MatrixProduct& product = planned.product_;
  product.m = shape.rows, product.n = shape.out, product.k = shape.in;
  product.transpose_b = true;
  product.factors = product.result = device->storage();
  PS_ASSIGN_OR_RETURN(planned.fused_,
                      device->PlanFusedProduct(product, Epilogue::kAddBias));
  if (planned.fused_ != nullptr) {
    PS_ASSIGN_OR_RETURN(planned.bias_,
                        ProductFactor::Weights(device, shape.out));
  }
  return planned;
}

absl::Status BiasedProduct::Multiply(const void* x, const void* weight,
                                     const float* bias, void* y) {
  if (fused_ != nullptr) {
    FusedOperands operands;
    operands.a = x, operands.b = weight, operands.c = y;
    operands.bias = bias_.of(bias);
    if (fused_->Takes(operands)) {
      PS_RETURN_IF_ERROR(bias_.Take(device_, bias));
      return fused_->Multiply(operands);
    }
  }
  product_.a = x, product_.b = weight, product_.c = y;
  PS_RETURN_IF_ERROR(device_->Multiply(product_));
  return AddBias(device_, product_.result,
                 ChannelGeometry(product_.m, product_.n, 1),
                 ActivationKind::kNone, bias, y);
}

absl::StatusOr<WeightGradient> WeightGradient::Plan(LayerDevice* device,
                                                    const LinearShape& shape) {
  WeightGradient planned;
  planned.device_ = device;
  MatrixProduct& product = planned.product_;
  product.m = shape.out, product.n = shape.in, product.k = shape.rows;
  product.transpose_a = true;
  product.factors = device->storage();
  PS_ASSIGN_OR_RETURN(planned.fused_,
                      device->PlanFusedProduct(product, Epilogue::kSumA));
  // Needed because the library may not accept the operands of a call.
  PS_RETURN_IF_ERROR(device->ReserveScratch(
      ChannelSumsScratchBytes(ChannelGeometry(shape.rows, shape.out, 1))));
  return planned;
}

absl::Status WeightGradient::Multiply(const void* dy, const void* x,
                                      float* dweight, float* dbias) {
  if (fused_ != nullptr) {
    FusedOperands operands;
    operands.a = dy, operands.b = x, operands.c = dweight;
    operands.sums = dbias;
    if (fused_->Takes(operands)) return fused_->Multiply(operands);
  }
  product_.a = dy, product_.b = x, product_.c = dweight;
  PS_RETURN_IF_ERROR(device_->Multiply(product_));
  return SumBias(device_, product_.factors,
                 ChannelGeometry(product_.k, product_.m, 1), dy, dbias);
}

}  // namespace ps
