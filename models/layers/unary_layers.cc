#include "models/layers/unary_layers.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "tensor/backend.h"
#include "tensor/sequence_kernels.h"

namespace ps {
namespace {

// An operation's use of memory; see PlannedLayer.
struct MemoryUse {
  bool in_place = false;
  bool backward_reads_input = false;
  bool backward_reads_output = false;
};

class PlannedUnary final : public PlannedLayer {
 public:
  PlannedUnary(std::unique_ptr<UnaryOp> op, const MemoryUse& use,
               std::optional<Activation> activation)
      : op_(std::move(op)), use_(use), activation_(activation) {}

  const ActivationDesc& output() const override { return op_->output(); }
  bool in_place() const override { return use_.in_place; }
  bool backward_reads_input() const override {
    return use_.backward_reads_input;
  }
  bool backward_reads_output() const override {
    return use_.backward_reads_output;
  }

  std::optional<Activation> activation() const override { return activation_; }

  absl::Status Forward(const ForwardArguments& a) override {
    return op_->Forward(a.x, a.y);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    return op_->Backward(a.x, a.y, a.dy, a.dx);
  }

 private:
  const std::unique_ptr<UnaryOp> op_;
  const MemoryUse use_;
  const std::optional<Activation> activation_;
};

// Creates an operation of the backend.
using Planner = std::function<absl::StatusOr<std::unique_ptr<UnaryOp>>(
    Backend& backend, const ActivationDesc& input)>;

class UnaryLayer final : public Layer {
 public:
  UnaryLayer(std::string kind, LayerConfig config, const MemoryUse& use,
             Planner planner,
             std::optional<Activation> activation = std::nullopt)
      : kind_(std::move(kind)),
        config_(std::move(config)),
        use_(use),
        planner_(std::move(planner)),
        activation_(activation) {}

  std::string kind() const override { return kind_; }

  void Describe(LayerConfigs* layers) const override {
    *layers->Add() = config_;
  }

  absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const override {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<UnaryOp> op,
                        planner_(*context.backend, input));
    return std::make_unique<PlannedUnary>(std::move(op), use_, activation_);
  }

 private:
  const std::string kind_;
  const LayerConfig config_;
  const MemoryUse use_;
  const Planner planner_;
  const std::optional<Activation> activation_;
};

// A reorder whose output has one dimension for all features.
class FlatOp final : public UnaryOp {
 public:
  explicit FlatOp(std::unique_ptr<UnaryOp> reorder)
      : reorder_(std::move(reorder)),
        output_(ActivationDesc::Plain({reorder_->output().shape[0],
                                       NumElements(reorder_->output().shape) /
                                           reorder_->output().shape[0]})) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    return reorder_->Forward(x, y);
  }

  absl::Status Backward(const float* x, const float* y, const float* dy,
                        float* dx) override {
    return reorder_->Backward(x, y, dy, dx);
  }

 private:
  const std::unique_ptr<UnaryOp> reorder_;
  const ActivationDesc output_;
};

}  // namespace

std::unique_ptr<Layer> NewPoolingLayer(const PoolingShape& shape) {
  LayerConfig config;
  PoolingConfig& pooling = shape.kind == PoolingShape::Kind::kMax
                               ? *config.mutable_max_pooling()
                               : *config.mutable_average_pooling();
  pooling.set_kernel_size(static_cast<int32_t>(shape.window));
  if (shape.stride != shape.window) {
    pooling.set_stride(static_cast<int32_t>(shape.stride));
  }
  if (shape.padding != pooling.padding()) {
    pooling.set_padding(static_cast<int32_t>(shape.padding));
  }
  return std::make_unique<UnaryLayer>(
      "pooling", config, MemoryUse(),
      [shape](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanPooling(shape, input);
      });
}

std::unique_ptr<Layer> NewGlobalPoolingLayer() {
  LayerConfig config;
  config.mutable_global_pooling();
  return std::make_unique<UnaryLayer>(
      "pooling", config, MemoryUse(),
      [](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanGlobalPooling(input);
      });
}

std::unique_ptr<Layer> NewMeanOfStepsLayer() {
  LayerConfig config;
  config.mutable_global_pooling();
  return std::make_unique<UnaryLayer>(
      "pooling", config, MemoryUse(),
      [](Backend& backend, const ActivationDesc& input) {
        return backend.sequences().PlanStepReduction(StepReduction::kMean,
                                                     input);
      });
}

std::unique_ptr<Layer> NewLastStepLayer() {
  LayerConfig config;
  config.mutable_last_step();
  return std::make_unique<UnaryLayer>(
      "pooling", config, MemoryUse(),
      [](Backend& backend, const ActivationDesc& input) {
        return backend.sequences().PlanStepReduction(StepReduction::kLast,
                                                     input);
      });
}

std::unique_ptr<Layer> NewAdaptivePoolingLayer(int64_t out_height,
                                               int64_t out_width) {
  LayerConfig config;
  AdaptivePoolingConfig& pooling = *config.mutable_adaptive_pooling();
  pooling.add_output_size(static_cast<int32_t>(out_height));
  if (out_width != out_height) {
    pooling.add_output_size(static_cast<int32_t>(out_width));
  }
  return std::make_unique<UnaryLayer>(
      "pooling", config, MemoryUse(),
      [=](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanAdaptivePooling(out_height, out_width, input);
      });
}

std::unique_ptr<Layer> NewSubsamplingLayer(const SubsamplingShape& shape) {
  LayerConfig config;
  SubsamplingConfig& subsampling = *config.mutable_subsampling();
  if (shape.stride != subsampling.stride()) {
    subsampling.set_stride(static_cast<int32_t>(shape.stride));
  }
  subsampling.set_out_channels(static_cast<int32_t>(shape.out_channels));
  return std::make_unique<UnaryLayer>(
      "residual", config, MemoryUse(),
      [shape](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanSubsampling(shape, input);
      });
}

std::unique_ptr<Layer> NewActivationLayer(Activation function) {
  MemoryUse use;
  use.in_place = true;
  use.backward_reads_output = true;
  LayerConfig config;
  for (const NamedActivation& each : kActivations) {
    if (each.function == function) config.set_activation(each.name);
  }
  return std::make_unique<UnaryLayer>(
      "activation", config, use,
      [function](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanActivation(function, input);
      },
      function);
}

std::unique_ptr<Layer> NewReluLayer() {
  return NewActivationLayer(Activation::kRelu);
}

std::unique_ptr<Layer> NewPlainOrderLayer() {
  LayerConfig config;
  config.mutable_flatten();
  return std::make_unique<UnaryLayer>(
      "reorder", config, MemoryUse(),
      [](Backend& backend, const ActivationDesc& input) {
        return backend.nn().PlanReorder(input);
      });
}

std::unique_ptr<Layer> NewFlattenLayer() {
  LayerConfig config;
  config.mutable_flatten();
  return std::make_unique<UnaryLayer>(
      "reorder", config, MemoryUse(),
      [](Backend& backend, const ActivationDesc& input)
          -> absl::StatusOr<std::unique_ptr<UnaryOp>> {
        PS_ASSIGN_OR_RETURN(std::unique_ptr<UnaryOp> reorder,
                            backend.nn().PlanReorder(input));
        return std::make_unique<FlatOp>(std::move(reorder));
      });
}

}  // namespace ps
