#include "models/zoo/classifier_config.h"

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

constexpr int kMaxHiddenFeatures = 65536;

bool IsHiddenFeatures(int features) {
  return features >= 1 && features <= kMaxHiddenFeatures;
}

// Whether it is a dropout; false for NaN.
bool IsDropout(double dropout) { return dropout >= 0 && dropout < 1; }

void CheckConfig(const JobConfig& job, ConfigProblems* problems) {
  const ClassifierConfig& config = job.model().classifier();
  if (!IsHiddenFeatures(config.hidden_features())) {
    problems->Add("model.classifier.hidden_features",
                  absl::StrCat(config.hidden_features()),
                  absl::StrCat("must be 1 to ", kMaxHiddenFeatures));
  }
  if (!IsDropout(config.dropout())) {
    problems->Add("model.classifier.dropout", absl::StrCat(config.dropout()),
                  "must be in [0, 1)");
  }
}

[[maybe_unused]] const bool kCheckRegistered = RegisterConfigCheck(CheckConfig);

}  // namespace

absl::Status CheckClassifier(const ClassifierConfig& config) {
  if (IsHiddenFeatures(config.hidden_features()) &&
      IsDropout(config.dropout())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a classifier with ", config.hidden_features(),
                   " hidden features and dropout ", config.dropout(),
                   "; must be 1 to ", kMaxHiddenFeatures, ", and in [0, 1)"));
}

}  // namespace ps
