#include "data/dataset.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/field_rules.h"
#include "common/nearest_word.h"
#include "common/status_macros.h"
#include "data/config_rules.h"
#include "data/folder.h"
#include "data/skipping_dataset.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

DataDescription Describe(const DatasetPair& pair) {
  DataDescription description;
  description.Add("training examples", absl::StrCat(pair.train->size()));
  description.Add("test examples", absl::StrCat(pair.test->size()));
  const ExampleShape shape = pair.train->example_shape();
  description.Add("classes", absl::StrCat(shape.num_classes));
  if (shape.task == Task::kImages) {
    description.Add("image", absl::StrCat(shape.channels, " x ", shape.height,
                                          " x ", shape.width));
  }
  const std::vector<std::string> names = pair.train->class_names();
  if (!names.empty()) description.AddList("class", names);
  if (!shape.alphabet.empty()) {
    description.Add("alphabet", absl::CHexEscape(shape.alphabet));
  }
  return description;
}

void CheckName(const JobConfig& config, ConfigProblems* problems) {
  const std::string& name = config.data().name();
  if (DatasetRegistry().Find(name).ok()) return;
  problems->Add("data.name", absl::StrCat("\"", name, "\""),
                MustBeOneOf(name, DatasetRegistry().Names()));
}

void CheckValidationFraction(const JobConfig& config,
                             ConfigProblems* problems) {
  const std::string field = "data.validation_fraction";
  const double fraction = config.data().validation_fraction();
  const std::string& name = config.data().name();
  problems->CheckThat(fraction == 0 || name == "characters" ||
                          name == "image_folder" || name == "labelled_text" ||
                          name == "speech",
                      field, fraction,
                      absl::StrCat("must be 0 with \"", name,
                                   "\", which has a test set of its own"));
}

const bool kNameCheckRegistered = RegisterConfigCheck(CheckName);
const bool kFractionCheckRegistered =
    RegisterConfigCheck(CheckValidationFraction);

}  // namespace

Registry<DatasetFactory>& DatasetRegistry() {
  // Never destroyed, since the destruction order of static objects is unknown.
  static auto* const registry = new Registry<DatasetFactory>("data set");
  return *registry;
}

absl::StatusOr<DatasetPair> NewDataset(const DatasetOptions& options) {
  PS_ASSIGN_OR_RETURN(const DatasetFactory factory,
                      DatasetRegistry().Find(options.config.name()));
  PS_RETURN_IF_ERROR(CheckFields(options.config, "data."));
  PS_RETURN_IF_ERROR(FirstProblem(options.config, CheckValidationFraction));
  absl::StatusOr<DatasetPair> made = factory(options);
  if (absl::IsNotFound(made.status()) ||
      absl::IsPermissionDenied(made.status())) {
    // A file may be missing because the whole folder is.
    PS_RETURN_IF_ERROR(ListFolder(options.config.directory()).status());
  }
  PS_ASSIGN_OR_RETURN(DatasetPair pair, std::move(made));
  DataDescription description = Describe(pair);
  description.Append(pair.description);
  pair.description = std::move(description);
  if (options.config.on_bad_example() == DataConfig::SKIP) {
    pair.train = NewSkippingDataset(std::move(pair.train));
    pair.test = NewSkippingDataset(std::move(pair.test));
  }
  return pair;
}

}  // namespace ps
