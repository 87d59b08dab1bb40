#include "models/layers/unary_layers.h"

#include <functional>
#include <string>
#include <utility>

#include "common/status_macros.h"

namespace ps {
namespace {

class PlannedUnary final : public PlannedLayer {
 public:
  explicit PlannedUnary(std::unique_ptr<UnaryOp> op) : op_(std::move(op)) {}

  const ActivationDesc& output() const override { return op_->output(); }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.y);
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
  UnaryLayer(std::string kind, Planner planner)
      : kind_(std::move(kind)), planner_(std::move(planner)) {}

  std::string kind() const override { return kind_; }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<UnaryOp> op,
                        planner_(context.backend->nn(), input));
    return std::make_unique<PlannedUnary>(std::move(op));
  }

 private:
  const std::string kind_;
  const Planner planner_;
};

}  // namespace

std::unique_ptr<Layer> NewPoolingLayer(const PoolingShape& shape) {
  return std::make_unique<UnaryLayer>(
      "pooling", [shape](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanPooling(shape, input);
      });
}

std::unique_ptr<Layer> NewReluLayer() {
  return std::make_unique<UnaryLayer>(
      "activation", [](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanRelu(input);
      });
}

std::unique_ptr<Layer> NewPlainOrderLayer() {
  return std::make_unique<UnaryLayer>(
      "reorder", [](NnKernels& nn, const ActivationDesc& input) {
        return nn.PlanReorder(input);
      });
}

}  // namespace ps
