#include "common/external_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/consistency.h"

namespace ps {
namespace {

constexpr char kWithExternal[] = " with model.name \"external\"";

// The fields that the user's program decides, as far as the job sets them.
JobConfig LeftToTheProgram(const JobConfig& config) {
  JobConfig rest;
  *rest.mutable_model() = config.model();
  rest.mutable_model()->clear_name();
  *rest.mutable_data() = config.data();
  *rest.mutable_schedule() = config.schedule();
  *rest.mutable_training() = config.training();
  rest.mutable_training()->clear_bucket_megabytes();
  rest.mutable_training()->clear_max_iterations();
  rest.mutable_training()->clear_non_finite();
  if (AnswersMeans(config)) {
    *rest.mutable_optimizer() = config.optimizer();
  } else {
    *rest.mutable_worker_optimizer() = config.worker_optimizer();
    rest.mutable_worker_optimizer()->clear_name();
    rest.mutable_worker_optimizer()->clear_step_ahead();
  }
  return rest;
}

}  // namespace

bool HasExternalModel(const JobConfig& config) {
  return config.model().name() == kExternal;
}

absl::Status CheckModelIsHere(const ModelConfig& model) {
  if (model.name() != kExternal) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this job's model is in a program of yours (model.name is "
      "\"external\"): gradsieve train JOB -- python3 train.py");
}

void CheckExternalModel(const JobConfig& config, ConfigProblems* problems) {
  const std::string& rule = config.worker_optimizer().name();
  if (!HasExternalModel(config)) {
    problems->CheckThat(rule != kExternal, "worker_optimizer.name",
                        "\"external\"",
                        "must be a rule unless model.name is \"external\": "
                        "workers of this job take the steps themselves");
    problems->CheckThat(!AnswersMeans(config), "downlink.mode", "MEAN",
                        "must be another unless model.name is \"external\": "
                        "workers of this job need weights");
    return;
  }
  if (AnswersMeans(config)) {
    problems->CheckThat(!config.has_worker_optimizer(), "worker_optimizer",
                        "set",
                        "must be left out with downlink.mode MEAN: workers "
                        "push gradients, and get their mean");
    problems->CheckThat(
        !UpdatesByEachPush(config), "consistency.mode",
        ConsistencyConfig::Mode_Name(config.consistency().mode()),
        "must be SYNCHRONOUS with downlink.mode MEAN: no server could give a "
        "worker the means that it has missed");
    problems->CheckThat(config.consistency().digest_every() == 0,
                        "consistency.digest_every",
                        config.consistency().digest_every(),
                        "must be 0 with downlink.mode MEAN: servers have no "
                        "weights to compare with");
  } else if (rule != kExternal) {
    problems->Add("worker_optimizer.name",
                  config.has_worker_optimizer() ? absl::StrCat("\"", rule, "\"")
                                                : "unset",
                  absl::StrCat("must be \"external\"", kWithExternal,
                               ": the program that has the model takes the "
                               "steps; or downlink.mode must be MEAN, with "
                               "which it pushes gradients"));
  }
  JobConfig defaults;
  if (!AnswersMeans(config)) defaults.mutable_worker_optimizer();
  for (const std::string& field : DescribeConfigDifferences(
           ResolvedConfigText(LeftToTheProgram(config)),
           ResolvedConfigText(defaults), /*values=*/false)) {
    problems->Add(field, "set",
                  absl::StrCat("must be left out", kWithExternal,
                               ": the program that has the model decides it"));
  }
  const ConsistencyConfig& consistency = config.consistency();
  problems->CheckThat(consistency.step_timeout_seconds() == 0,
                      "consistency.step_timeout_seconds",
                      consistency.step_timeout_seconds(),
                      absl::StrCat("must be 0", kWithExternal));
  // Servers go on from their logs; there are no snapshots.
  problems->CheckThat(
      config.checkpoint().directory().empty() ||
          config.checkpoint().durability() == CheckpointConfig::EVERY_UPDATE,
      "checkpoint.durability", "SNAPSHOTS",
      absl::StrCat("must be EVERY_UPDATE or checkpoint.directory empty",
                   kWithExternal,
                   ": the program that has the model saves what it goes on "
                   "from"));
}

}  // namespace ps
