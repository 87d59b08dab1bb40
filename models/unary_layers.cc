#include "models/unary_layers.h"

#include <functional>
#include <utility>

#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedUnary final : public PlannedLayer {
 public:
  explicit PlannedUnary(std::unique_ptr<UnaryOp> op) : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const float* x, const float*, float* y) override {
    return op_->Forward(x, y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.y, a.dy, a.dx);
  }

 private:
  const std::unique_ptr<UnaryOp> op_;
};

// Plans one of NnKernels' operations.
using Planner = std::function<absl::StatusOr<std::unique_ptr<UnaryOp>>(
    NnKernels& nn, const ActivationDesc& input)>;

class UnaryLayer final : public Layer {
 public:
  explicit UnaryLayer(Planner planner) : planner_(std::move(planner)) {}

  std::vector<LayerParameter> parameters() const override { return {}; }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      NnKernels& nn, const ActivationDesc& input) const override {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<UnaryOp> op, planner_(nn, input));
    return std::make_unique<PlannedUnary>(std::move(op));
  }

 private:
  const Planner planner_;
};

}  // namespace

std::unique_ptr<Layer> NewPoolingLayer(const PoolingShape& shape) {
  return std::make_unique<UnaryLayer>(
      [shape](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanPooling(shape, input);
      });
}

std::unique_ptr<Layer> NewReluLayer() {
  return std::make_unique<UnaryLayer>(
      [](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanRelu(input);
      });
}

std::unique_ptr<Layer> NewPlainOrderLayer() {
  return std::make_unique<UnaryLayer>(
      [](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanReorder(input);
      });
}

}  // namespace ps
