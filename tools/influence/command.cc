#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "data/dataset.h"
#include "glog/logging.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"
#include "tools/evaluate/class_names.h"
#include "tools/evaluate/evaluated_job.h"
#include "tools/influence/checkpoints.h"
#include "tools/influence/flags.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/page.h"
#include "tools/influence/plan.h"
#include "tools/influence/queries.h"
#include "tools/influence/result.h"
#include "tools/influence/worker_command.h"

namespace ps {
namespace {

absl::StatusOr<EvaluatedJob> FindRun(const InfluenceFlags& flags) {
  std::error_code error;
  if (!std::filesystem::exists(flags.evaluated.job + "/job.textproto", error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.evaluated.job,
                     " is not a run directory and has no job.textproto; name "
                     "the directory that `gradsieve train` has printed"));
  }
  return FindEvaluatedJob(flags.evaluated);
}

absl::StatusOr<std::vector<bool>> ReadMislabelled(const std::string& path,
                                                  int64_t num_examples) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<bool> mislabelled(num_examples);
  int64_t count = 0;
  for (const absl::string_view line :
       absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty())) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(line, &number) || number < 0 ||
        number >= num_examples) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": \"", line,
                       "\" is not the number of a training example, 0 "
                       "to ",
                       num_examples - 1));
    }
    mislabelled[number] = true;
    ++count;
  }
  if (count > 0) return mislabelled;
  return absl::InvalidArgumentError(absl::StrCat(path, " names no example"));
}

int64_t NumProcesses(const InfluenceFlags& flags) {
  if (flags.processes > 0) return flags.processes;
  return std::max(1u, std::thread::hardware_concurrency());
}

absl::StatusOr<InfluencePlan> MakePlan(const InfluenceFlags& flags,
                                       const EvaluatedJob& job,
                                       const DatasetPair& data,
                                       const std::vector<std::string>& names) {
  InfluencePlan plan;
  plan.config = job.config;
  // The number of threads can change a result's last bits.
  plan.config.mutable_machine()->set_worker_threads(1);
  // They share the memory of a device.
  plan.config.mutable_machine()->set_workers_on_machine(
      static_cast<int32_t>(NumProcesses(flags)));
  plan.layers = flags.layers;
  plan.with_bias = !flags.no_bias;
  if (!flags.sketches.empty()) plan.sketch_size = flags.sketch_size;
  plan.num_examples = data.train->size();
  PS_ASSIGN_OR_RETURN(plan.queries, ParseQueries(flags.query, data, names));
  CheckpointSource source;
  source.run = flags.evaluated.job;
  source.snapshots =
      flags.snapshots.empty() ? flags.evaluated.job : flags.snapshots;
  source.config = &job.config;
  source.set = {data.train->size(), data.train->order()};
  PS_ASSIGN_OR_RETURN(const std::vector<InfluenceCheckpoint> kept,
                      FindCheckpoints(source));
  PS_ASSIGN_OR_RETURN(ChosenCheckpoints chosen,
                      ChooseCheckpoints(kept, flags.checkpoints));
  plan.checkpoints = std::move(chosen.checkpoints);
  if (!chosen.warning.empty()) {
    std::fprintf(stderr, "gradsieve influence: %s\n", chosen.warning.c_str());
  }
  return plan;
}

// at_last: what the last checkpoint makes of the queries.
std::vector<QueryResult> QueryResults(const InfluenceResult& result,
                                      const ExampleScores& at_last,
                                      const DatasetPair& data) {
  std::vector<QueryResult> queries;
  for (int64_t q = 0; q < at_last.size(); ++q) {
    QueryResult& query = queries.emplace_back();
    query.query = result.plan.queries[q];
    query.name = QueryName(query.query, data);
    query.label = at_last.labels[q];
    query.predicted = at_last.predicted[q];
    query.loss = at_last.losses[q];
    query.influence = result.sums.OnQuery(q);
    query.proponents = Proponents(query.influence, result.top);
    query.opponents = Opponents(query.influence, result.top);
  }
  return queries;
}

absl::Status Run(const InfluenceFlags& flags) {
  PS_ASSIGN_OR_RETURN(const EvaluatedJob job, FindRun(flags));
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> json, OpenOutput(flags.json));
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> page, OpenOutput(flags.page));
  PS_ASSIGN_OR_RETURN(const DatasetPair data, ReadInfluenceData(job.config));
  if (data.train->example_shape().task != Task::kImages) {
    return absl::InvalidArgumentError(
        absl::StrCat("influence is for models of images; data.name is \"",
                     job.config.data().name(), "\""));
  }
  PS_ASSIGN_OR_RETURN(std::vector<std::string> names,
                      ClassNamesOf(job, *data.train));
  std::vector<bool> mislabelled;
  if (!flags.mislabelled.empty()) {
    PS_ASSIGN_OR_RETURN(mislabelled,
                        ReadMislabelled(flags.mislabelled, data.train->size()));
  }
  PS_ASSIGN_OR_RETURN(InfluencePlan plan, MakePlan(flags, job, data, names));
  PS_ASSIGN_OR_RETURN(WorkDone done,
                      DoWork(plan, NumProcesses(flags), flags.sketches));
  InfluenceResult result(std::move(plan), std::move(done.sums));
  result.run = flags.evaluated.job;
  result.top = flags.top;
  result.class_names = std::move(names);
  for (int64_t i = 0; i < data.train->size(); ++i) {
    result.example_names.push_back(data.train->example_name(i));
  }
  result.queries = QueryResults(result, done.queries, data);
  result.shows_self = flags.self;
  result.rankings = RankExamples(result.sums);
  result.mislabelled = std::move(mislabelled);
  std::fputs(InfluenceText(result).c_str(), stdout);
  PS_RETURN_IF_ERROR(CommitOutput(InfluenceJson(result), &json));
  if (!page.has_value()) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const std::string html, InfluencePage(result, data));
  return CommitOutput(html, &page);
}

}  // namespace

int RunInfluenceCommand(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == kInfluenceWorker) {
    return RunInfluenceWorker(argc - 1, argv + 1);
  }
  InfluenceFlags flags;
  CommandLine command_line(InfluenceHelp());
  AddInfluenceOptions(&flags, &command_line);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status checked = CheckInfluenceFlags(flags);
  if (!checked.ok()) return FailCommand("influence", checked, kExitUsage);
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("influence", Run(flags));
}

}  // namespace ps
