// A network that the config lists layer by layer, for any kind of data.

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "models/described/described_layers.h"
#include "models/layers/ctc_loss.h"
#include "models/model.h"
#include "models/sequential_model.h"
#include "models/zoo/speech_model.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

constexpr char kName[] = "layers";

absl::StatusOr<std::unique_ptr<Model>> NewLayers(const ModelOptions& options) {
  ConfigProblems problems;
  DescribedLayers described =
      MakeDescribedLayers(options.config.layers(), &options.example, &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "\n"));
  }
  if (options.example.task != Task::kSpeech) {
    return NewSequentialModel(options, std::move(described.layers));
  }
  PS_RETURN_IF_ERROR(CheckSpeechTask(options.example));
  CtcLossOptions loss;
  loss.alphabet = options.example.alphabet;
  loss.frames_per_step = described.frames_per_step;
  return NewSequentialModel(options, std::move(described.layers),
                            NewCtcLoss(loss));
}

REGISTER_MODEL(kName, "a network that the job describes, layer by layer",
               NewLayers);

void CheckLayers(const JobConfig& job, ConfigProblems* problems) {
  const ModelConfig& model = job.model();
  if (model.name() == kName) {
    MakeDescribedLayers(model.layers(), /*example=*/nullptr, problems);
  } else if (!model.layers().layer().empty()) {
    problems->Add("model.name", absl::StrCat("\"", model.name(), "\""),
                  absl::StrCat("must be \"", kName,
                               "\" to train the network of model.layers"));
  }
}

[[maybe_unused]] const bool kCheckRegistered = RegisterConfigCheck(CheckLayers);

}  // namespace
}  // namespace ps
