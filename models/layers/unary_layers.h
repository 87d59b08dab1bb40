// Layers without weights: pooling, activation functions, conversion to plain
// order.
#ifndef MODELS_LAYERS_UNARY_LAYERS_H_
#define MODELS_LAYERS_UNARY_LAYERS_H_

#include <cstdint>
#include <memory>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

std::unique_ptr<Layer> NewPoolingLayer(const PoolingShape& shape);

// Creates a layer of the mean over height and width; output: [batch, channels].
std::unique_ptr<Layer> NewGlobalPoolingLayer();

// Create layers from a sequence, [steps, batch, features], to [batch,
// features]: the mean over its steps, or the last one.
std::unique_ptr<Layer> NewMeanOfStepsLayer();
std::unique_ptr<Layer> NewLastStepLayer();

// Creates a layer that averages over out_height x out_width parts.
std::unique_ptr<Layer> NewAdaptivePoolingLayer(int64_t out_height,
                                               int64_t out_width);

// Creates a residual block's shortcut without weights.
std::unique_ptr<Layer> NewSubsamplingLayer(const SubsamplingShape& shape);

// The functions of activation layers.
struct NamedActivation {
  Activation function;
  const char* name;           // In LayerConfig.
  const char* onnx_operator;  // Without attributes.
};
constexpr NamedActivation kActivations[] = {
    {Activation::kRelu, "relu", "Relu"},
    {Activation::kTanh, "tanh", "Tanh"},
    {Activation::kSigmoid, "sigmoid", "Sigmoid"}};

std::unique_ptr<Layer> NewActivationLayer(Activation function);
std::unique_ptr<Layer> NewReluLayer();

// Creates a layer that converts an activation to plain order, [batch, channels,
// height, width], which is the order that a linear layer flattens.
std::unique_ptr<Layer> NewPlainOrderLayer();

// Creates a layer that also flattens: [batch, channels x height x width].
std::unique_ptr<Layer> NewFlattenLayer();

}  // namespace ps

#endif  // MODELS_LAYERS_UNARY_LAYERS_H_
