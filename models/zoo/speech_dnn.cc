// A deep fully connected network over a window of frames, the acoustic model of
// Hinton et al., "Deep neural networks for acoustic modeling in speech
// recognition", IEEE Signal Processing Magazine 2012. AdaComp (AAAI 2018) and
// ScaleCom (NeurIPS 2020) train similar networks with compressed gradients.
// This one has ReLUs, and CTC, which needs no alignment of frames and phones.
//
// In PyTorch: hidden = ModuleList(Linear, ...) with ReLU and dropout after
// each, output = Linear(hidden, classes). Initial weights of the hidden layers
// are those of He et al., which carry the signal through any depth of ReLUs;
// biases are 0.

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/layers/affine_layers.h"
#include "models/layers/dropout.h"
#include "models/layers/frame_window_layer.h"
#include "models/layers/unary_layers.h"
#include "models/model.h"
#include "models/zoo/speech_model.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewSpeechDnn(
    const ModelOptions& options) {
  const SpeechDnnConfig& config = options.config.speech_dnn();
  FrameWindowShape window;
  window.before = config.context();
  window.window = 2 * config.context() + 1;
  window.stride = config.stride();
  SpeechModelOptions speech;
  speech.hidden = config.hidden();
  speech.frames_per_step = config.stride();
  speech.layers.push_back(NewFrameWindowLayer(window));
  int64_t features = window.window * options.example.features;
  for (int i = 0; i < config.layers(); ++i) {
    LinearOptions linear;
    linear.name = absl::StrCat("hidden.", i);
    linear.in_features = features;
    linear.out_features = config.hidden();
    linear.initializers.weight = Initializer::HeNormal(features);
    linear.each_step = true;
    speech.layers.push_back(NewLinearLayer(linear));
    speech.layers.push_back(NewReluLayer());
    if (config.dropout() > 0) {
      speech.layers.push_back(NewDropoutLayer(config.dropout()));
    }
    features = config.hidden();
  }
  return NewSpeechModel(options, std::move(speech));
}

REGISTER_MODEL("speech_dnn",
               "speech: fully connected over a window of frames, with CTC",
               NewSpeechDnn);

}  // namespace
}  // namespace ps
