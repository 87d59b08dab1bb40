#include "models/layers/dropout.h"

#include <string>
#include <utility>

#include "common/status_macros.h"
#include "tensor/nn_kernels.h"

namespace ps {
namespace {

class PlannedDropout final : public PlannedLayer {
 public:
  explicit PlannedDropout(std::unique_ptr<DropoutOp> op) : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool in_place() const override { return true; }
  bool backward_reads_input() const override { return false; }
  bool backward_reads_output() const override { return false; }
  // The kernels take the choice of dropped elements as an argument.
  bool records_forward() const override { return false; }
  bool records_backward() const override { return false; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.random_key, a.x, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return a.dx == nullptr ? absl::OkStatus() : op_->Backward(a.dy, a.dx);
  }

 private:
  const std::unique_ptr<DropoutOp> op_;
};

// Dropout in inference: does nothing, or copies if the chain does not work in
// place.
class PlannedIdentity final : public PlannedLayer {
 public:
  PlannedIdentity(std::unique_ptr<SumOp> copy, const ActivationDesc& input)
      : copy_(std::move(copy)), output_(input) {}

  const ActivationDesc& output() const override { return output_; }
  bool in_place() const override { return true; }

  absl::Status Forward(const ForwardArguments& a) override {
    if (a.y == a.x) return absl::OkStatus();
    return copy_->Run(a.x, nullptr, a.y);
  }

  absl::Status Backward(const BackwardArguments&) override {
    return absl::FailedPreconditionError("planned for inference");
  }

 private:
  const std::unique_ptr<SumOp> copy_;
  const ActivationDesc output_;
};

class DropoutLayer final : public Layer {
 public:
  explicit DropoutLayer(double probability) : probability_(probability) {}

  std::string kind() const override { return "dropout"; }

  void Describe(LayerConfigs* layers) const override {
    layers->Add()->set_dropout(probability_);
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    if (!context.training) {
      PS_ASSIGN_OR_RETURN(std::unique_ptr<SumOp> copy,
                          context.backend->nn().PlanSum(input));
      return std::make_unique<PlannedIdentity>(std::move(copy), input);
    }
    PS_ASSIGN_OR_RETURN(std::unique_ptr<DropoutOp> op,
                        context.backend->nn().PlanDropout(probability_, input));
    return std::make_unique<PlannedDropout>(std::move(op));
  }

 private:
  const double probability_;
};

}  // namespace

std::unique_ptr<Layer> NewDropoutLayer(double probability) {
  return std::make_unique<DropoutLayer>(probability);
}

}  // namespace ps
