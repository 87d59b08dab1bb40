#include "models/zoo/speech_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/layers/affine_layers.h"
#include "models/layers/ctc_loss.h"
#include "models/sequential_model.h"

namespace ps {

absl::Status CheckSpeechTask(const ExampleShape& example) {
  if (example.task != Task::kSpeech) {
    return absl::InvalidArgumentError(
        "a speech model needs a data set of speech");
  }
  if (static_cast<int64_t>(example.alphabet.size()) != example.num_classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("an alphabet of ", example.alphabet.size(),
                     " characters for ", example.num_classes, " classes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Model>> NewSpeechModel(
    const ModelOptions& model, SpeechModelOptions options) {
  const ExampleShape& example = model.example;
  PS_RETURN_IF_ERROR(CheckSpeechTask(example));
  LinearOptions output;
  output.name = "output";
  output.in_features = options.hidden;
  output.out_features = example.num_classes;
  output.initializers = AffineInitializers::FanInUniform(options.hidden);
  output.each_step = true;
  options.layers.push_back(NewLinearLayer(output));
  CtcLossOptions loss;
  loss.alphabet = example.alphabet;
  loss.frames_per_step = options.frames_per_step;
  return NewSequentialModel(model, std::move(options.layers), NewCtcLoss(loss));
}

}  // namespace ps
