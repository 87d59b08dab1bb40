// Reads layers for inputs of several kinds: linear layers, batch normalisation,
// activation functions, dropout.

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/described/layer_reading.h"
#include "models/layers/dropout.h"
#include "models/layers/unary_layers.h"

namespace ps {
namespace {

// Checks a layer that shares the embedding's table.
void CheckTied(const LayerReading& layer, int64_t out_features) {
  const NetworkReading& network = *layer.network;
  if (network.embedding_features == 0) {
    layer.Wrong("linear.tied_to_embedding", "true",
                "needs an embedding as the first layer");
    return;
  }
  if (layer.config.linear().has_initial_weight()) {
    layer.Wrong("linear.initial_weight", "set",
                "must not be, with tied_to_embedding: the weight is the "
                "embedding's");
  }
  if (layer.input.channels != 0 &&
      layer.input.channels != network.embedding_features) {
    layer.WrongInput(absl::StrCat("must have ", network.embedding_features,
                                  " features, as many as the embedding that "
                                  "the layer is tied to"));
  }
  if (out_features != 0 && network.num_tokens() != 0 &&
      out_features != network.num_tokens()) {
    layer.Wrong("linear.out_features", absl::StrCat(out_features),
                absl::StrCat("must be ", network.num_tokens(),
                             ", the rows of the embedding"));
  }
}

bool IsFeatures(const LayerReading& layer) {
  if (layer.input.is(LayerShape::Kind::kFeatures) ||
      layer.input.is(LayerShape::Kind::kSequence) ||
      layer.input.is(LayerShape::Kind::kUnknown)) {
    return true;
  }
  layer.WrongInput(
      layer.input.is(LayerShape::Kind::kImages)
          ? "must be [batch, features]: put `layer { flatten {} }` before it"
          : "must be [steps, batch, features]: an embedding makes it from "
            "words or characters");
  return false;
}

}  // namespace

LayerShape ReadLinear(const LayerReading& layer) {
  const LinearConfig& config = layer.config.linear();
  const int64_t out_features = config.out_features() == 0
                                   ? layer.network->num_classes()
                                   : config.out_features();
  LayerShape output = LayerShape::Features(out_features);
  if (IsFeatures(layer)) output.kind = layer.input.kind;

  LinearOptions options;
  options.name = layer.name;
  options.in_features = layer.input.channels;
  options.out_features = out_features;
  options.each_step = layer.input.is(LayerShape::Kind::kSequence);
  options.tied = config.tied_to_embedding();
  if (options.tied) CheckTied(layer, out_features);
  const Fans fans = {options.in_features, out_features};
  options.initializers = AffineInitializers::FanInUniform(fans.in);
  // The number of classes may not be known yet.
  const Fans known = {fans.in, out_features == 0 ? 1 : out_features};
  options.initializers.weight =
      ReadInitialValues(layer, "linear.initial_weight", config.initial_weight(),
                        known, options.initializers.weight);
  options.initializers.bias =
      ReadInitialValues(layer, "linear.initial_bias", config.initial_bias(),
                        Fans(), options.initializers.bias);
  if (layer.makes_layers()) layer.layers->push_back(NewLinearLayer(options));
  return output;
}

BatchNormOptions ReadBatchNormOptions(const LayerReading& layer) {
  const BatchNormConfig& config = layer.config.batch_norm();
  if (layer.input.is(LayerShape::Kind::kSequence) ||
      layer.input.is(LayerShape::Kind::kTokens)) {
    layer.WrongInput(
        "must be images or [batch, features]; sequences have no batch "
        "normalisation");
  }
  BatchNormOptions options;
  options.name = layer.name;
  options.channels = layer.input.channels;
  options.epsilon = static_cast<float>(config.epsilon());
  options.momentum = static_cast<float>(config.momentum());
  options.fixed_statistics = config.fixed_statistics();
  return options;
}

LayerShape ReadBatchNorm(const LayerReading& layer, AfterNorm after) {
  BatchNormOptions options = ReadBatchNormOptions(layer);
  options.after = after;
  if (layer.makes_layers()) layer.layers->push_back(NewBatchNormLayer(options));
  return layer.input;
}

LayerShape ReadActivation(const LayerReading& layer) {
  const auto* const activation =
      std::find_if(std::begin(kActivations), std::end(kActivations),
                   [&layer](const NamedActivation& each) {
                     return each.name == layer.config.activation();
                   });
  // The rule of the field has reported an unknown one.
  if (activation == std::end(kActivations)) return layer.input;
  if (layer.input.is(LayerShape::Kind::kTokens)) {
    layer.CheckKind(LayerShape::Kind::kSequence);
  }
  if (layer.makes_layers()) {
    layer.layers->push_back(NewActivationLayer(activation->function));
  }
  return layer.input;
}

LayerShape ReadDropout(const LayerReading& layer) {
  const double probability = layer.config.dropout();
  if (layer.input.is(LayerShape::Kind::kTokens)) {
    layer.CheckKind(LayerShape::Kind::kSequence);
  }
  if (layer.makes_layers()) {
    layer.layers->push_back(NewDropoutLayer(probability));
  }
  return layer.input;
}

}  // namespace ps
