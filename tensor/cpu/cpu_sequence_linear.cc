#include "tensor/cpu/cpu_sequence_linear.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cpu/cpu_bias.h"
#include "tensor/cpu/gemm.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CpuSequenceLinear final : public AffineOp {
 public:
  CpuSequenceLinear(ThreadPool* pool, const ActivationDesc& input,
                    ActivationDesc output)
      : pool_(pool),
        rows_(output.shape[0] * output.shape[1]),
        in_(input.shape[2]),
        out_(output.shape[2]),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    GemmShape shape;
    shape.m = rows_, shape.n = out_, shape.k = in_;
    shape.transpose_b = true;
    PS_RETURN_IF_ERROR(Multiply(shape, x, weight, y));
    AddToRows(pool_, bias, rows_, out_, y);
    return absl::OkStatus();
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    GemmShape product;
    product.m = out_, product.n = in_, product.k = rows_;
    product.transpose_a = true;
    PS_RETURN_IF_ERROR(Multiply(product, dy, x, dweight));
    SumRows(pool_, dy, rows_, out_, dbias);
    if (dx == nullptr) return absl::OkStatus();
    GemmShape back;
    back.m = rows_, back.n = in_, back.k = out_;
    return Multiply(back, dy, weight, dx);
  }

 private:
  absl::Status Multiply(const GemmShape& shape, const float* a, const float* b,
                        float* c) const {
    return Gemm(pool_->num_threads(), shape, a, b, c);
  }

  ThreadPool* const pool_;  // Not owned.
  const int64_t rows_;      // steps x batch.
  const int64_t in_;
  const int64_t out_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AffineOp>> PlanCpuSequenceLinear(
    ThreadPool* pool, int64_t out_features, const ActivationDesc& input) {
  if (input.shape.size() != 3 || NumElements(input.shape) < 1 ||
      input.layout != nullptr || out_features < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "linear layer from ", ShapeString(input.shape), " to ", out_features,
        " features: needs plain [steps, batch, features], each at least 1, and "
        "at least one feature"));
  }
  return std::make_unique<CpuSequenceLinear>(
      pool, input,
      ActivationDesc::Plain({input.shape[0], input.shape[1], out_features}));
}

}  // namespace ps
