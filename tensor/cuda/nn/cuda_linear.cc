#include "tensor/cuda/nn/cuda_linear.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/nn/bias.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/reorder.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaLinear final : public BiasedOp {
 public:
  CudaLinear(LayerDevice* device, const LinearRows& rows)
      : BiasedOp(device, rows.output,
                 ChannelGeometry(rows.rows, rows.output.back(), 1),
                 /*has_bias=*/true),
        rows_(rows.rows),
        in_(rows.in),
        out_(rows.output.back()),
        input_(rows.input) {}

  absl::Status Allocate() {
    if (input_ != factors()) {
      PS_ASSIGN_OR_RETURN(x_, ProductFactor::Copied(device(), {rows_ * in_}));
    }
    PS_ASSIGN_OR_RETURN(weight_,
                        ProductFactor::Weights(device(), {out_ * in_}));
    return ReserveBiasScratch();
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    PS_RETURN_IF_ERROR(x_.Take(device(), x));
    PS_RETURN_IF_ERROR(weight_.Take(device(), weight));
    MatrixProduct product;
    product.m = rows_, product.n = out_, product.k = in_;
    product.transpose_b = true;
    product.factors = product.result = factors();
    product.a = x_.of(x), product.b = weight_.of(weight), product.c = y;
    PS_RETURN_IF_ERROR(device()->Multiply(product));
    return FinishOutput(bias, y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    MatrixProduct of_weight;
    of_weight.m = out_, of_weight.n = in_, of_weight.k = rows_;
    of_weight.transpose_a = true;
    of_weight.factors = factors();
    of_weight.a = dy, of_weight.b = x_.of(x), of_weight.c = dweight;
    PS_RETURN_IF_ERROR(device()->Multiply(of_weight));
    PS_RETURN_IF_ERROR(SumOutputGradient(dy, dbias));
    if (dx == nullptr) return absl::OkStatus();
    MatrixProduct of_input;
    of_input.m = rows_, of_input.n = in_, of_input.k = out_;
    of_input.factors = factors();
    of_input.result = input_;
    of_input.a = dy, of_input.b = weight_.of(weight), of_input.c = dx;
    return device()->Multiply(of_input);
  }

 private:
  Storage factors() const { return device()->storage(); }

  const int64_t rows_;
  const int64_t in_;
  const int64_t out_;
  const Storage input_;
  ProductFactor x_;
  ProductFactor weight_;
};

}  // namespace

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
