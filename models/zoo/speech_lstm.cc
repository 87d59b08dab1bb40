// LSTM layers over the frames of a recording, trained with CTC, as in Graves et
// al. (ICML 2006). Here they run in one direction, like the five layers of 800
// units that the compression papers train on AN4 (SIDCo, MLSys 2021, table 1),
// and over several frames at a time (Sak, Senior, Rao, Beaufays, "Fast and
// accurate recurrent neural network acoustic models for speech recognition",
// Interspeech 2015, section 5).
//
// In PyTorch: x = frames.view(steps, batch, stack x features), rnn = LSTM(stack
// x features, hidden, layers, dropout), output = Linear(hidden, classes), with
// PyTorch's initial weights.

#include <cstdint>
#include <memory>
#include <utility>

#include "models/layers/dropout.h"
#include "models/layers/frame_window_layer.h"
#include "models/layers/recurrent.h"
#include "models/model.h"
#include "models/zoo/speech_model.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewSpeechLstm(
    const ModelOptions& options) {
  const SpeechLstmConfig& config = options.config.speech_lstm();
  SpeechModelOptions speech;
  speech.hidden = config.hidden();
  speech.frames_per_step = config.stack();
  if (config.stack() > 1) {
    FrameWindowShape stack;
    stack.window = stack.stride = config.stack();
    speech.layers.push_back(NewFrameWindowLayer(stack));
  }
  for (int64_t i = 0; i < config.layers(); ++i) {
    RecurrentOptions lstm;
    lstm.index = i;
    lstm.shape.cell = RecurrentShape::Cell::kLstm;
    lstm.shape.hidden = config.hidden();
    lstm.features =
        i == 0 ? config.stack() * options.example.features : config.hidden();
    lstm.initializer = Initializer::FanInUniform(config.hidden());
    if (i > 0 && config.dropout() > 0) {
      speech.layers.push_back(NewDropoutLayer(config.dropout()));
    }
    speech.layers.push_back(NewRecurrentLayer(lstm));
  }
  return NewSpeechModel(options, std::move(speech));
}

REGISTER_MODEL("speech_lstm", "speech: LSTM layers with CTC", NewSpeechLstm);

}  // namespace
}  // namespace ps
