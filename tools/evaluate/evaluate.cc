#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "data/dataset.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/commands.h"
#include "tools/command_line/human_format.h"
#include "tools/command_line/options.h"
#include "tools/evaluate/class_names.h"
#include "tools/evaluate/confusion.h"
#include "tools/evaluate/evaluated_job.h"
#include "worker/evaluator.h"

namespace ps {
namespace {

struct Flags {
  EvaluatedJobFlags evaluated;
  std::string split = "test";
  std::string json;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve evaluate";
  text.description =
      "Evaluates weights on the test set of a job, or on its training set, and "
      "prints what the job itself reports of its test set. The weights may "
      "come from any run of the same model, or from PyTorch. For images, and "
      "texts with a class, it also says which classes the model takes for "
      "which others.";
  text.examples = {
      {"gradsieve evaluate runs/mnist", "the final weights of a run"},
      {"gradsieve evaluate runs/mnist --weights=runs/mnist/best.safetensors "
       "--split=train",
       "its best weights, on the training set"},
      {"gradsieve evaluate job.textproto --weights=resnet18.safetensors "
       "--data=photographs",
       "weights from elsewhere, on other data of the same kind"},
  };
  text.exit_codes = {
      {"0", "evaluated"},
      {"1", "the device or a file failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong, or weights or data do not fit it"},
  };
  return text;
}

struct EvaluationResult {
  int64_t num_examples = 0;
  Evaluation evaluation;
  std::optional<Confusion> confusion;  // Of examples with a class.
};

absl::StatusOr<EvaluationResult> EvaluateSplit(const EvaluatedJob& job,
                                               const std::string& split) {
  DatasetOptions data;
  data.config = job.config.data();
  data.seed = job.config.seed();
  data.augment = false;
  PS_ASSIGN_OR_RETURN(const DatasetPair pair, NewDataset(data));
  const Dataset& set = split == "train" ? *pair.train : *pair.test;
  PS_ASSIGN_OR_RETURN(
      const LoadedModel loaded,
      LoadEvaluatedModel(job, set.example_shape(), pair.description.text()));
  if (set.sequences() != nullptr) {
    PS_RETURN_IF_ERROR(Annotate(loaded.model->CheckSequences(*set.sequences()),
                                absl::StrCat("the ", split, " set")));
  }
  EvaluationResult result;
  result.num_examples = set.size();
  OutputsHandler handler;
  if (HasClasses(set.example_shape().task)) {
    PS_ASSIGN_OR_RETURN(std::vector<std::string> names, ClassNamesOf(job, set));
    result.confusion.emplace(std::move(names));
    handler = [&](const Batch& batch, const std::vector<float>& outputs) {
      return result.confusion->Add(batch.labels, outputs);
    };
  }
  PS_ASSIGN_OR_RETURN(result.evaluation, Evaluate(set, loaded.weights,
                                                  loaded.model.get(), handler));
  return result;
}

std::string ReportText(const EvaluatedJob& job, const std::string& split,
                       const EvaluationResult& result) {
  std::string text =
      absl::StrCat(job.weights, " (", job.config.model().name(), ") on the ",
                   split, " set of ", job.config.data().name(), ", ",
                   FormatCount(result.num_examples), " examples\n");
  for (const Metric& metric : Metrics(result.evaluation)) {
    absl::StrAppendFormat(&text, "  %-20s %s\n", MetricWords(metric.name),
                          FormatMetric(metric.name, metric.value));
  }
  if (result.confusion.has_value()) {
    absl::StrAppend(&text, "\n", result.confusion->Text());
  }
  return text;
}

std::string ReportJson(const EvaluatedJob& job, const std::string& split,
                       const EvaluationResult& result) {
  Json json;
  json["job"] = job.config.name();
  json["model"] = job.config.model().name();
  json["data"] = job.config.data().name();
  json["weights"] = job.weights;
  json["split"] = split;
  json["examples"] = result.num_examples;
  const std::vector<Metric> metrics = Metrics(result.evaluation);
  json["metric"] = absl::StrCat(split, "_", metrics.front().name);
  for (const Metric& metric : metrics) {
    json[absl::StrCat(split, "_", metric.name)] = metric.value;
  }
  if (result.confusion.has_value()) result.confusion->AddTo(&json);
  return JsonText(json) + "\n";
}

absl::Status Run(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const EvaluatedJob job,
                      FindEvaluatedJob(flags.evaluated));
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> json, OpenOutput(flags.json));
  PS_ASSIGN_OR_RETURN(const EvaluationResult result,
                      EvaluateSplit(job, flags.split));
  std::fputs(ReportText(job, flags.split, result).c_str(), stdout);
  return CommitOutput(ReportJson(job, flags.split, result), &json);
}

}  // namespace

int RunEvaluateCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  AddEvaluatedJob(&flags.evaluated, &command_line);
  command_line.AddOption("split", "SET", "The set to use: test or train.",
                         &flags.split);
  command_line.AddOption("json", "FILE",
                         "Write the result as a JSON object, with all counts.",
                         &flags.json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  if (flags.split != "test" && flags.split != "train") {
    return FailCommand(
        "evaluate",
        absl::InvalidArgumentError(absl::StrCat("--split is ", flags.split,
                                                "; must be test or train")),
        kExitUsage);
  }
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("evaluate", Run(flags));
}

}  // namespace ps
