#include "tools/evaluate/evaluated_job.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/config.h"
#include "common/data_description.h"
#include "common/job_fields.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "formats/safetensors.h"
#include "models/initial_weights.h"
#include "worker/job_model.h"

namespace ps {

void AddEvaluatedJob(EvaluatedJobFlags* flags, CommandLine* command_line) {
  command_line->AddArgument(
      "JOB", "The job, a .textproto file; or the directory of a run.",
      &flags->job);
  command_line->AddOption("weights", "FILE",
                          "The weights, a .safetensors file; default: "
                          "weights.safetensors of the run.",
                          &flags->weights);
  command_line->AddOption("data", "DIR",
                          "Other data of the same kind, in place of "
                          "data.directory.",
                          &flags->data);
  command_line->AddOption("classes", "FILE",
                          "The names of the classes, one on each line; "
                          "default: classes.txt beside the weights.",
                          &flags->classes);
  AddOverrides(command_line, &flags->overrides, "data.text.evaluate_on=TEST");
}

absl::StatusOr<EvaluatedJob> FindEvaluatedJob(const EvaluatedJobFlags& flags) {
  const std::string job_file = JobFileOf(flags.job);
  EvaluatedJob job;
  job.weights = flags.weights;
  job.classes = flags.classes;
  if (job.weights.empty()) {
    if (job_file == flags.job) {
      return absl::InvalidArgumentError(absl::StrCat(
          flags.job,
          " is not a run directory and has no weights of its own; name a "
          ".safetensors file with --weights"));
    }
    job.weights = flags.job + "/weights.safetensors";
  }
  std::vector<std::string> overrides = flags.overrides;
  if (!flags.data.empty()) {
    overrides.push_back(absl::StrCat("data.directory=", flags.data));
  }
  PS_ASSIGN_OR_RETURN(job.config, LoadJob(job_file, overrides));
  // The run's other workers are gone.
  job.config.mutable_machine()->set_workers_on_machine(1);
  return job;
}

absl::StatusOr<LoadedModel> LoadEvaluatedModel(const EvaluatedJob& job,
                                               const ExampleShape& example,
                                               const std::string& data) {
  LoadedModel loaded;
  PS_ASSIGN_OR_RETURN(loaded.backend,
                      MakeBackend(job.config, /*worker_rank=*/0));
  PS_ASSIGN_OR_RETURN(loaded.model,
                      MakeModel(job.config, example, loaded.backend.get()));
  Tensor& statistics = loaded.model->statistics_values();
  std::vector<float> weight_values(loaded.model->num_parameters());
  std::vector<float> statistic_values(statistics.size());
  SafetensorsMetadata metadata;
  PS_RETURN_IF_ERROR(LoadInitialWeights(
      job.weights, *loaded.model, absl::MakeSpan(weight_values),
      absl::MakeSpan(statistic_values), &metadata));
  const auto trained_on = metadata.find(kDataMetadata);
  if (trained_on != metadata.end() && !data.empty()) {
    const std::string difference =
        DescribeDataDifference(MeaningOfNumbers(data), trained_on->second);
    if (!difference.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          job.weights,
          " was trained on data in which numbers mean something else than in "
          "data.directory \"",
          job.config.data().directory(), "\": ", difference));
    }
  }
  PS_ASSIGN_OR_RETURN(loaded.weights, loaded.backend->Allocate(
                                          {loaded.model->num_parameters()}));
  PS_RETURN_IF_ERROR(
      loaded.backend->CopyFromHost(weight_values.data(), &loaded.weights));
  PS_RETURN_IF_ERROR(
      loaded.backend->CopyFromHost(statistic_values.data(), &statistics));
  return loaded;
}

}  // namespace ps
