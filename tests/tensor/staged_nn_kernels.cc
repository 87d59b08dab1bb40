#include "tests/tensor/staged_nn_kernels.h"

#include <utility>

#include "common/status_macros.h"
#include "tensor/tensor.h"
#include "tests/tensor/staged_call.h"

namespace ps {
namespace {

class StagedAffine final : public AffineOp {
 public:
  StagedAffine(Backend* device, const StagedAffineSizes& sizes,
               std::unique_ptr<AffineOp> op)
      : device_(device), sizes_(sizes), op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const float* x, const float* weight, const float* bias,
                       float* y) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, sizes_.x);
    const float* const on_weight = call.InUnaligned(weight, sizes_.weight);
    const float* const on_bias = call.InUnaligned(bias, sizes_.bias);
    float* const on_y = call.InOut(y, output().num_floats);
    return call.Finish(op_->Forward(on_x, on_weight, on_bias, on_y));
  }

  absl::Status Backward(const float* x, const float* weight, const float* dy,
                        float* dx, float* dweight, float* dbias) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, sizes_.x);
    const float* const on_weight = call.InUnaligned(weight, sizes_.weight);
    const float* const on_dy = call.In(dy, output().num_floats);
    float* const on_dx = call.InOut(dx, sizes_.x);
    float* const on_dweight = call.InOutUnaligned(dweight, sizes_.weight);
    float* const on_dbias = call.InOutUnaligned(dbias, sizes_.bias);
    return call.Finish(
        op_->Backward(on_x, on_weight, on_dy, on_dx, on_dweight, on_dbias));
  }

  bool FuseActivation(Activation function) override {
    return op_->FuseActivation(function);
  }

  absl::Status BackwardActivation(const float* y, float* dy,
                                  float* dbias) override {
    StagedCall call(device_);
    const float* const on_y = call.In(y, output().num_floats);
    float* const on_dy = call.InOut(dy, output().num_floats);
    float* const on_dbias = call.InOutUnaligned(dbias, sizes_.bias);
    return call.Finish(op_->BackwardActivation(on_y, on_dy, on_dbias));
  }

 private:
  Backend* const device_;  // Not owned.
  const StagedAffineSizes sizes_;
  const std::unique_ptr<AffineOp> op_;
};

class StagedUnary final : public UnaryOp {
 public:
  StagedUnary(Backend* device, int64_t num_inputs, std::unique_ptr<UnaryOp> op)
      : device_(device), num_inputs_(num_inputs), op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const float* x, float* y) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, num_inputs_);
    float* const on_y = call.InOut(y, output().num_floats);
    return call.Finish(op_->Forward(on_x, on_y));
  }

  absl::Status Backward(const float* x, const float* y, const float* dy,
                        float* dx) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, num_inputs_);
    const float* const on_y = call.In(y, output().num_floats);
    const float* const on_dy = call.In(dy, output().num_floats);
    float* const on_dx = call.InOut(dx, num_inputs_);
    return call.Finish(op_->Backward(on_x, on_y, on_dy, on_dx));
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t num_inputs_;
  const std::unique_ptr<UnaryOp> op_;
};

class StagedBatchNorm final : public BatchNormOp {
 public:
  StagedBatchNorm(Backend* device, int64_t channels,
                  std::unique_ptr<BatchNormOp> op)
      : device_(device), channels_(channels), op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const ForwardArguments& a) override {
    StagedCall call(device_);
    const int64_t n = output().num_floats;
    ForwardArguments on;
    on.x = call.In(a.x, n);
    on.residual = call.In(a.residual, n);
    on.weight = call.InUnaligned(a.weight, channels_);
    on.bias = call.InUnaligned(a.bias, channels_);
    on.running_mean = call.InOutUnaligned(a.running_mean, channels_);
    on.running_variance = call.InOutUnaligned(a.running_variance, channels_);
    on.y = call.InOut(a.y, n);
    return call.Finish(op_->Forward(on));
  }

  absl::Status Backward(const BackwardArguments& a) override {
    StagedCall call(device_);
    const int64_t n = output().num_floats;
    BackwardArguments on;
    on.x = call.In(a.x, n);
    on.y = call.In(a.y, n);
    on.dy = call.InOut(a.dy, n);
    on.dx = call.InOut(a.dx, n);
    on.dweight = call.InOutUnaligned(a.dweight, channels_);
    on.dbias = call.InOutUnaligned(a.dbias, channels_);
    return call.Finish(op_->Backward(on));
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t channels_;
  const std::unique_ptr<BatchNormOp> op_;
};

class StagedDropout final : public DropoutOp {
 public:
  StagedDropout(Backend* device, std::unique_ptr<DropoutOp> op)
      : device_(device), op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(uint64_t key, const float* x, float* y) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, output().num_floats);
    float* const on_y = call.InOut(y, output().num_floats);
    return call.Finish(op_->Forward(key, on_x, on_y));
  }

  absl::Status Backward(const float* dy, float* dx) override {
    StagedCall call(device_);
    const float* const on_dy = call.In(dy, output().num_floats);
    float* const on_dx = call.InOut(dx, output().num_floats);
    return call.Finish(op_->Backward(on_dy, on_dx));
  }

 private:
  Backend* const device_;  // Not owned.
  const std::unique_ptr<DropoutOp> op_;
};

class StagedSum final : public SumOp {
 public:
  StagedSum(Backend* device, int64_t n, std::unique_ptr<SumOp> op)
      : device_(device), n_(n), op_(std::move(op)) {}

  absl::Status Run(const float* a, const float* b, float* y) override {
    StagedCall call(device_);
    const float* const on_a = call.In(a, n_);
    const float* const on_b = call.In(b, n_);
    float* const on_y = call.InOut(y, n_);
    return call.Finish(op_->Run(on_a, on_b, on_y));
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t n_;
  const std::unique_ptr<SumOp> op_;
};

class StagedLoss final : public SoftmaxCrossEntropyOp {
 public:
  StagedLoss(Backend* device, int64_t num_logits,
             std::unique_ptr<SoftmaxCrossEntropyOp> op)
      : device_(device), num_logits_(num_logits), op_(std::move(op)) {}

  absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                             float* dlogits) override {
    StagedCall call(device_);
    const float* const on_logits = call.In(logits, num_logits_);
    float* const on_dlogits = call.InOut(dlogits, num_logits_);
    const absl::StatusOr<Result> result =
        op_->Run(on_logits, labels, on_dlogits);
    PS_RETURN_IF_ERROR(call.Finish(result.status()));
    return result;
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t num_logits_;
  const std::unique_ptr<SoftmaxCrossEntropyOp> op_;
};

class StagedNnKernels final : public NnKernels {
 public:
  explicit StagedNnKernels(Backend* device) : device_(device) {}

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanConvolution(
      const ConvolutionShape& shape, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanConvolution(shape, input));
    StagedAffineSizes sizes;
    sizes.x = input.num_floats;
    sizes.weight = shape.out_channels * input.shape[1] / shape.groups *
                   shape.kernel_height * shape.kernel_width;
    sizes.bias = shape.out_channels;
    return StageAffine(device_, sizes, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanBatchNorm(
      const BatchNormShape& shape, const ActivationDesc& input,
      const ActivationDesc* residual) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanBatchNorm(shape, input, residual));
    return std::make_unique<StagedBatchNorm>(device_, input.shape[1],
                                             std::move(op));
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanLinear(
      int64_t out_features, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanLinear(out_features, input));
    StagedAffineSizes sizes;
    sizes.x = input.num_floats;
    sizes.weight = out_features * NumElements(input.shape) / input.shape[0];
    sizes.bias = out_features;
    return StageAffine(device_, sizes, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanPooling(
      const PoolingShape& shape, const ActivationDesc& input) override {
    return Stage(input, nn().PlanPooling(shape, input));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanActivation(
      Activation function, const ActivationDesc& input) override {
    return Stage(input, nn().PlanActivation(function, input));
  }

  absl::StatusOr<std::unique_ptr<SumOp>> PlanSum(
      const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanSum(input));
    return std::make_unique<StagedSum>(device_, input.num_floats,
                                       std::move(op));
  }

  absl::StatusOr<std::unique_ptr<DropoutOp>> PlanDropout(
      double probability, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanDropout(probability, input));
    return std::make_unique<StagedDropout>(device_, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanAdaptivePooling(
      int64_t out_height, int64_t out_width,
      const ActivationDesc& input) override {
    return Stage(input, nn().PlanAdaptivePooling(out_height, out_width, input));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanGlobalPooling(
      const ActivationDesc& input) override {
    return Stage(input, nn().PlanGlobalPooling(input));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanSubsampling(
      const SubsamplingShape& shape, const ActivationDesc& input) override {
    return Stage(input, nn().PlanSubsampling(shape, input));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanReorder(
      const ActivationDesc& input) override {
    return Stage(input, nn().PlanReorder(input));
  }

  absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
  PlanSoftmaxCrossEntropy(const ActivationDesc& logits) override {
    PS_ASSIGN_OR_RETURN(auto op, nn().PlanSoftmaxCrossEntropy(logits));
    return std::make_unique<StagedLoss>(device_, logits.num_floats,
                                        std::move(op));
  }

  int64_t num_reorders() const override { return device_->nn().num_reorders(); }

 private:
  NnKernels& nn() { return device_->nn(); }

  absl::StatusOr<std::unique_ptr<UnaryOp>> Stage(
      const ActivationDesc& input,
      absl::StatusOr<std::unique_ptr<UnaryOp>> op) {
    if (!op.ok()) return op;
    return StageUnary(device_, input.num_floats, *std::move(op));
  }

  Backend* const device_;  // Not owned.
};

}  // namespace

std::unique_ptr<NnKernels> NewStagedNnKernels(Backend* device) {
  return std::make_unique<StagedNnKernels>(device);
}

std::unique_ptr<AffineOp> StageAffine(Backend* device,
                                      const StagedAffineSizes& sizes,
                                      std::unique_ptr<AffineOp> op) {
  return std::make_unique<StagedAffine>(device, sizes, std::move(op));
}

std::unique_ptr<UnaryOp> StageUnary(Backend* device, int64_t num_inputs,
                                    std::unique_ptr<UnaryOp> op) {
  return std::make_unique<StagedUnary>(device, num_inputs, std::move(op));
}

}  // namespace ps
