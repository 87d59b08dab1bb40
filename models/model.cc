#include "models/model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/external_model.h"
#include "common/field_rules.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

void CheckModelName(const JobConfig& config, ConfigProblems* problems) {
  if (HasExternalModel(config)) return;
  const std::vector<std::string> names = ModelRegistry().Names();
  const std::string& name = config.model().name();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    problems->Add("model.name", absl::StrCat("\"", name, "\""),
                  MustBeOneOf(name, names));
  }
}

absl::Status CheckExamples(const ExampleShape& example) {
  const bool counts_are_positive = [&] {
    if (example.num_classes < 1) return false;
    if (example.task == Task::kSpeech) return example.features >= 1;
    if (example.task != Task::kImages) {
      return example.steps >= 1 && example.num_tokens() >= 1;
    }
    return example.channels >= 1 && example.height >= 1 && example.width >= 1;
  }();
  if (counts_are_positive) return absl::OkStatus();
  std::string examples = absl::StrCat(example.channels, " x ", example.height,
                                      " x ", example.width);
  if (example.task == Task::kSpeech) {
    examples = absl::StrCat("frames of ", example.features, " features");
  } else if (example.task != Task::kImages) {
    examples = absl::StrCat(example.steps, " tokens from a vocabulary of ",
                            example.num_tokens());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("examples of ", examples, " in ", example.num_classes,
                   " classes; every number must be at least 1"));
}

[[maybe_unused]] const bool kCheckRegistered =
    RegisterConfigCheck(CheckModelName);

}  // namespace

Registry<ModelFactory>& ModelRegistry() {
  // It is never destroyed, since static initialisers of other files fill it and
  // the destruction order of static objects is unknown.
  static auto* const registry = new Registry<ModelFactory>("model");
  return *registry;
}

absl::StatusOr<std::unique_ptr<Model>> NewModel(const ModelOptions& options) {
  PS_RETURN_IF_ERROR(CheckModelIsHere(options.config));
  PS_RETURN_IF_ERROR(CheckFields(options.config, "model."));
  PS_RETURN_IF_ERROR(CheckExamples(options.example));
  PS_ASSIGN_OR_RETURN(const ModelFactory factory,
                      ModelRegistry().Find(options.config.name()));
  auto model = factory(options);
  PS_RETURN_IF_ERROR(
      Annotate(model.status(), absl::StrCat("model ", options.config.name())));
  return model;
}

}  // namespace ps
