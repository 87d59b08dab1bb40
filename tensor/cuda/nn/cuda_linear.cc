#include "tensor/cuda/nn/cuda_linear.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/cuda/nn/row_sums.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaLinear final : public AffineOp {
 public:
  CudaLinear(LayerDevice* device, int64_t rows, int64_t in,
             ActivationDesc output)
      : device_(device),
        rows_(rows),
        in_(in),
        out_(output.num_floats / rows),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status ReserveScratch() {
    return device_->ReserveScratch(RowSumsScratchBytes(rows_, out_));
  }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    MatrixProduct product;
    product.m = rows_, product.n = out_, product.k = in_;
    product.transpose_b = true;
    product.a = x, product.b = weight, product.c = y;
    PS_RETURN_IF_ERROR(device_->Multiply(product));
    return AddToRows(device_, bias, rows_, out_, y);
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    MatrixProduct of_weight;
    of_weight.m = out_, of_weight.n = in_, of_weight.k = rows_;
    of_weight.transpose_a = true;
    of_weight.a = dy, of_weight.b = x, of_weight.c = dweight;
    PS_RETURN_IF_ERROR(device_->Multiply(of_weight));
    PS_RETURN_IF_ERROR(SumRows(device_, dy, rows_, out_, dbias));
    if (dx == nullptr) return absl::OkStatus();
    MatrixProduct of_input;
    of_input.m = rows_, of_input.n = in_, of_input.k = out_;
    of_input.a = dy, of_input.b = weight, of_input.c = dx;
    return device_->Multiply(of_input);
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t rows_;
  const int64_t in_;
  const int64_t out_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaLinearRows(
    LayerDevice* device, int64_t rows, int64_t in, ActivationDesc output) {
  auto op = std::make_unique<CudaLinear>(device, rows, in, std::move(output));
  PS_RETURN_IF_ERROR(op->ReserveScratch());
  return op;
}

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaLinear(
    LayerDevice* device, int64_t out_features, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("linear layer from ", ShapeString(input.shape), " to ",
                   out_features, " features");
  PS_RETURN_IF_ERROR(CheckPlain(what, input));
  if (input.shape.size() < 2 || out_features < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": needs [batch, features] and at least one feature on "
                     "each side"));
  }
  const int64_t batch = input.shape[0];
  return PlanCudaLinearRows(device, batch, NumElements(input.shape) / batch,
                            ActivationDesc::Plain({batch, out_features}));
}

}  // namespace ps
