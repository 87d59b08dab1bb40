// The common parts of the speech models: a linear output layer and CTC.
#ifndef MODELS_ZOO_SPEECH_MODEL_H_
#define MODELS_ZOO_SPEECH_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/layers/layer.h"
#include "models/model.h"

namespace ps {

struct SpeechModelOptions {
  // These layers map [frames, batch, features] to [steps, batch, hidden].
  std::vector<std::unique_ptr<Layer>> layers;
  int64_t hidden = 0;
  int64_t frames_per_step = 1;
};

// Errors: kInvalidArgument for a data set that is not speech, or whose alphabet
// and number of classes differ in size.
absl::Status CheckSpeechTask(const ExampleShape& example);

// Errors: those of CheckSpeechTask and of NewSequentialModel.
absl::StatusOr<std::unique_ptr<Model>> NewSpeechModel(
    const ModelOptions& model, SpeechModelOptions options);

}  // namespace ps

#endif  // MODELS_ZOO_SPEECH_MODEL_H_
