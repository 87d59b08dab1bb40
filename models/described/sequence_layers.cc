// Reads layers for text and speech.

#include <string>

#include "absl/strings/str_cat.h"
#include "models/described/layer_reading.h"
#include "models/layers/dropout.h"
#include "models/layers/embedding.h"
#include "models/layers/frame_window_layer.h"
#include "models/layers/recurrent.h"
#include "models/layers/unary_layers.h"

namespace ps {
namespace {

constexpr int64_t kMaxFramesPerStep = 65536;

}  // namespace

LayerShape ReadEmbedding(const LayerReading& layer) {
  const EmbeddingConfig& config = layer.config.embedding();
  const bool fits = layer.CheckKind(LayerShape::Kind::kTokens);
  EmbeddingOptions options;
  options.name = layer.name;
  options.num_tokens = layer.network->num_tokens();
  options.features = config.features();
  options.initializer = ReadInitialValues(layer, "embedding.initial_weight",
                                          config.initial_weight(), Fans(),
                                          Initializer::Normal(1));
  options.tied = layer.network->ties_embedding;
  layer.network->embedding_features = config.features();
  if (layer.makes_layers()) layer.layers->push_back(NewEmbeddingLayer(options));
  return fits ? LayerShape::Sequence(config.features()) : LayerShape();
}

LayerShape ReadRecurrent(const LayerReading& layer) {
  const bool lstm = layer.config.has_lstm();
  const RecurrentConfig& config =
      lstm ? layer.config.lstm() : layer.config.gru();
  const std::string field = lstm ? "lstm." : "gru.";
  const bool fits = layer.CheckKind(LayerShape::Kind::kSequence);
  RecurrentOptions options;
  options.name = layer.name;
  options.shape.cell =
      lstm ? RecurrentShape::Cell::kLstm : RecurrentShape::Cell::kGru;
  options.shape.hidden = config.hidden();
  options.features = layer.input.channels;
  options.initializer = ReadInitialValues(
      layer, field + "initial_weight", config.initial_weight(), Fans(),
      Initializer::FanInUniform(config.hidden()));
  for (int i = 0; layer.makes_layers() && i < config.layers(); ++i) {
    if (i > 0 && config.dropout() > 0) {
      layer.layers->push_back(NewDropoutLayer(config.dropout()));
    }
    options.index = i;
    layer.layers->push_back(NewRecurrentLayer(options));
    options.features = config.hidden();
  }
  return fits ? LayerShape::Sequence(config.hidden()) : LayerShape();
}

LayerShape ReadLastStep(const LayerReading& layer) {
  const bool fits = layer.CheckKind(LayerShape::Kind::kSequence);
  if (layer.makes_layers()) layer.layers->push_back(NewLastStepLayer());
  return LayerShape::Features(fits ? layer.input.channels : 0);
}

LayerShape ReadFrameWindow(const LayerReading& layer) {
  const FrameWindowConfig& config = layer.config.frame_window();
  if (config.before() < 0 || config.before() >= config.window()) {
    layer.Wrong("frame_window.before", absl::StrCat(config.before()),
                "must be 0 to window - 1");
  }
  const ExampleShape* const example = layer.network->example;
  if (example != nullptr && example->task != Task::kSpeech) {
    layer.WrongInput("must be the frames of a data set of speech");
  } else {
    layer.CheckKind(LayerShape::Kind::kSequence);
  }
  FrameWindowShape shape;
  shape.window = config.window();
  shape.stride = config.stride() == 0 ? config.window() : config.stride();
  shape.before = config.before();
  int64_t& frames_per_step = layer.network->frames_per_step;
  if (shape.stride > kMaxFramesPerStep / frames_per_step) {
    layer.Wrong("frame_window.stride", absl::StrCat(shape.stride),
                absl::StrCat("all strides together must join at most ",
                             kMaxFramesPerStep, " frames"));
  } else if (shape.stride > 0) {
    frames_per_step *= shape.stride;
  }
  if (layer.makes_layers()) layer.layers->push_back(NewFrameWindowLayer(shape));
  return LayerShape::Sequence(layer.input.channels * config.window());
}

}  // namespace ps
