#include "tensor/cuda/nn/cuda_linear.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaLinear final : public AffineOp {
 public:
  CudaLinear(LayerDevice* device, const LinearRows& rows)
      : device_(device),
        rows_(rows.rows),
        in_(rows.in),
        out_(NumElements(rows.output) / rows.rows),
        input_(rows.input),
        output_(CudaActivation(device->storage(), rows.output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate() {
    if (input_ != factors()) {
      PS_ASSIGN_OR_RETURN(x_, ProductFactor::Copied(device_, {rows_ * in_}));
    }
    PS_ASSIGN_OR_RETURN(weight_, ProductFactor::Weights(device_, {out_ * in_}));
    const LinearShape shape = {rows_, in_, out_};
    PS_ASSIGN_OR_RETURN(forward_, BiasedProduct::Plan(device_, shape));
    PS_ASSIGN_OR_RETURN(gradient_, WeightGradient::Plan(device_, shape));
    return absl::OkStatus();
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_RETURN_IF_ERROR(x_.Take(device_, x));
    PS_RETURN_IF_ERROR(weight_.Take(device_, weight));
    return forward_.Multiply(x_.of(x), weight_.of(weight), bias, y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    PS_RETURN_IF_ERROR(gradient_.Multiply(dy, x_.of(x), dweight, dbias));
    if (dx == nullptr) return absl::OkStatus();
    MatrixProduct of_input;
    of_input.m = rows_, of_input.n = in_, of_input.k = out_;
    of_input.factors = factors();
    of_input.result = input_;
    of_input.a = dy, of_input.b = weight_.of(weight), of_input.c = dx;
    return device_->Multiply(of_input);
  }

 private:
  Storage factors() const { return device_->storage(); }

  LayerDevice* const device_;  // Not owned.
  const int64_t rows_;
  const int64_t in_;
  const int64_t out_;
  const Storage input_;
  const ActivationDesc output_;
  ProductFactor x_;
  ProductFactor weight_;
  BiasedProduct forward_;
  WeightGradient gradient_;
};

}  // namespace

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
                        ProductFactor::Weights(device, {shape.out}));
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

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaLinearRows(
    LayerDevice* device, const LinearRows& rows) {
  auto op = std::make_unique<CudaLinear>(device, rows);
  PS_RETURN_IF_ERROR(op->Allocate());
  return op;
}

absl::StatusOr<std::unique_ptr<AffineOp>> CudaNnKernels::PlanLinear(
    int64_t out_features, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("linear layer from ", ShapeString(input.shape), " to ",
                   out_features, " features");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, input));
  if (input.shape.size() < 2 || out_features < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": needs [batch, features] and at least one feature on "
                     "each side"));
  }
  // With the channels last, the order of the features would differ from that of
  // the weights.
  if (storage == Storage::kBfloat16 && input.shape.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs images in plain order"));
  }
  const int64_t batch = input.shape[0];
  LinearRows rows;
  rows.rows = batch;
  rows.in = NumElements(input.shape) / batch;
  rows.input = storage;
  rows.output = {batch, out_features};
  return PlanCudaLinearRows(device(), rows);
}

}  // namespace ps
