#include "tests/tensor/staged_sequence_kernels.h"

#include <cstdint>
#include <utility>

#include "common/status_macros.h"
#include "tensor/tensor.h"
#include "tests/tensor/staged_call.h"
#include "tests/tensor/staged_nn_kernels.h"

namespace ps {
namespace {

class StagedEmbedding final : public EmbeddingOp {
 public:
  StagedEmbedding(Backend* device, const EmbeddingShape& shape,
                  std::unique_ptr<EmbeddingOp> op)
      : device_(device),
        table_size_(shape.num_rows * shape.features),
        num_tokens_(NumElements(op->output().shape) / shape.features),
        op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const float* tokens, const float* table,
                       float* y) override {
    StagedCall call(device_);
    const float* const on_tokens = call.In(tokens, num_tokens_);
    const float* const on_table = call.InUnaligned(table, table_size_);
    float* const on_y = call.InOut(y, output().num_floats);
    return call.Finish(op_->Forward(on_tokens, on_table, on_y));
  }

  absl::Status AddGradient(const float* dy, float* dtable) override {
    StagedCall call(device_);
    const float* const on_dy = call.In(dy, output().num_floats);
    float* const on_dtable = call.InOutUnaligned(dtable, table_size_);
    return call.Finish(op_->AddGradient(on_dy, on_dtable));
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t table_size_;
  const int64_t num_tokens_;
  const std::unique_ptr<EmbeddingOp> op_;
};

class StagedRecurrent final : public RecurrentOp {
 public:
  StagedRecurrent(Backend* device, const RecurrentShape& shape,
                  const ActivationDesc& input, std::unique_ptr<RecurrentOp> op)
      : device_(device),
        num_inputs_(input.num_floats),
        bias_size_(shape.num_gates() * shape.hidden),
        input_size_(bias_size_ * input.shape[2]),
        recurrent_size_(bias_size_ * shape.hidden),
        op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }
  int64_t num_floats() const override { return op_->num_floats(); }
  absl::Duration cell_time() const override { return op_->cell_time(); }
  void ResetState() override { op_->ResetState(); }
  absl::Status SaveState(std::string* bytes) const override {
    return op_->SaveState(bytes);
  }
  absl::Status LoadState(absl::string_view* bytes) override {
    return op_->LoadState(bytes);
  }

  absl::Status Forward(const float* x, const Weights& weights,
                       float* y) override {
    StagedCall call(device_);
    const float* const on_x = call.In(x, num_inputs_);
    const Weights on_weights = Stage(weights, &call);
    float* const on_y = call.InOut(y, output().num_floats);
    return call.Finish(op_->Forward(on_x, on_weights, on_y));
  }

  absl::Status Backward(const BackwardArguments& a) override {
    StagedCall call(device_);
    BackwardArguments on;
    on.x = call.In(a.x, num_inputs_);
    on.dy = call.In(a.dy, output().num_floats);
    on.weights = Stage(a.weights, &call);
    on.dx = call.InOut(a.dx, num_inputs_);
    const Gradients& g = a.gradients;
    on.gradients.input = call.InOutUnaligned(g.input, input_size_);
    on.gradients.recurrent = call.InOutUnaligned(g.recurrent, recurrent_size_);
    on.gradients.input_bias = call.InOutUnaligned(g.input_bias, bias_size_);
    on.gradients.recurrent_bias =
        call.InOutUnaligned(g.recurrent_bias, bias_size_);
    return call.Finish(op_->Backward(on));
  }

 private:
  Weights Stage(const Weights& weights, StagedCall* call) const {
    Weights on;
    on.input = call->InUnaligned(weights.input, input_size_);
    on.recurrent = call->InUnaligned(weights.recurrent, recurrent_size_);
    on.input_bias = call->InUnaligned(weights.input_bias, bias_size_);
    on.recurrent_bias = call->InUnaligned(weights.recurrent_bias, bias_size_);
    return on;
  }

  Backend* const device_;  // Not owned.
  const int64_t num_inputs_;
  const int64_t bias_size_;
  const int64_t input_size_;
  const int64_t recurrent_size_;
  const std::unique_ptr<RecurrentOp> op_;
};

class StagedCtcLoss final : public CtcLossOp {
 public:
  StagedCtcLoss(Backend* device, int64_t num_logits,
                std::unique_ptr<CtcLossOp> op)
      : device_(device), num_logits_(num_logits), op_(std::move(op)) {}

  absl::StatusOr<double> Run(const float* logits, const CtcTargets& targets,
                             float* dlogits) override {
    StagedCall call(device_);
    const float* const on_logits = call.In(logits, num_logits_);
    float* const on_dlogits = call.InOut(dlogits, num_logits_);
    const absl::StatusOr<double> loss =
        op_->Run(on_logits, targets, on_dlogits);
    PS_RETURN_IF_ERROR(call.Finish(loss.status()));
    return loss;
  }

 private:
  Backend* const device_;  // Not owned.
  const int64_t num_logits_;
  const std::unique_ptr<CtcLossOp> op_;
};

class StagedSequenceKernels final : public SequenceKernels {
 public:
  explicit StagedSequenceKernels(Backend* device) : device_(device) {}

  absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanEmbedding(
      const EmbeddingShape& shape, const ActivationDesc& tokens) override {
    PS_ASSIGN_OR_RETURN(auto op, sequences().PlanEmbedding(shape, tokens));
    return std::make_unique<StagedEmbedding>(device_, shape, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, sequences().PlanRecurrent(shape, input));
    return std::make_unique<StagedRecurrent>(device_, shape, input,
                                             std::move(op));
  }

  absl::StatusOr<std::unique_ptr<AffineOp>> PlanSequenceLinear(
      int64_t out_features, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op,
                        sequences().PlanSequenceLinear(out_features, input));
    StagedAffineSizes sizes;
    sizes.x = input.num_floats;
    sizes.weight = out_features * input.shape[2];
    sizes.bias = out_features;
    return StageAffine(device_, sizes, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<CtcLossOp>> PlanCtcLoss(
      const ActivationDesc& logits) override {
    PS_ASSIGN_OR_RETURN(auto op, sequences().PlanCtcLoss(logits));
    return std::make_unique<StagedCtcLoss>(device_, logits.num_floats,
                                           std::move(op));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanFrameWindow(
      const FrameWindowShape& shape, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op, sequences().PlanFrameWindow(shape, input));
    return StageUnary(device_, input.num_floats, std::move(op));
  }

  absl::StatusOr<std::unique_ptr<UnaryOp>> PlanStepReduction(
      StepReduction reduction, const ActivationDesc& input) override {
    PS_ASSIGN_OR_RETURN(auto op,
                        sequences().PlanStepReduction(reduction, input));
    return StageUnary(device_, input.num_floats, std::move(op));
  }

 private:
  SequenceKernels& sequences() { return device_->sequences(); }

  Backend* const device_;  // Not owned.
};

}  // namespace

std::unique_ptr<SequenceKernels> NewStagedSequenceKernels(Backend* device) {
  return std::make_unique<StagedSequenceKernels>(device);
}

}  // namespace ps
