#include "tools/train_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/flags.h"
#include "common/program.h"
#include "tools/command_failure.h"
#include "tools/find_program.h"
#include "tools/local_cluster.h"
#include "tools/run_directory.h"
#include "tools/run_report.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  std::string run_dir;
  std::vector<std::string> overrides;
  bool check = false;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve train";
  text.description =
      "Trains a job on this machine: starts its servers and workers as child "
      "processes, shows their logs and the progress, stops all processes when "
      "one of them fails or at Ctrl-C, and ends with a summary. The run "
      "directory then holds the resolved config, metrics.jsonl, the logs, "
      "weights.safetensors and summary.json.";
  text.examples = {
      {"gradsieve train job.textproto --set training.epochs=3",
       "the same job, but three epochs"},
      {"gradsieve train job.textproto --check", "only check the job"},
  };
  text.exit_codes = {
      {"0", "trained"},
      {"1", "a server or worker failed; the message names it"},
      {"64", "the command line makes no sense, or the run directory is taken"},
      {"78", "the job's config is wrong"},
      {"130", "interrupted"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("train", status, exit_code);
}

int Train(const Flags& flags) {
  const absl::StatusOr<JobConfig> config = LoadJob(flags.job, flags.overrides);
  if (!config.ok()) return Fail(config.status(), kExitConfig);
  if (flags.check) {
    std::printf("%s is a valid job\n", flags.job.c_str());
    return kExitDone;
  }
  LocalClusterOptions options;
  options.config = *config;
  options.run_directory = flags.run_dir.empty()
                              ? DefaultRunDirectory(config->name())
                              : flags.run_dir;
  for (auto* program : {&options.server_program, &options.worker_program}) {
    const absl::StatusOr<std::string> found =
        FindProgram(program == &options.server_program ? "server" : "worker");
    if (!found.ok()) return Fail(found.status(), kExitFailed);
    *program = *found;
  }
  const absl::Status made = MakeRunDirectory(options.run_directory);
  if (!made.ok()) return Fail(made, kExitUsage);

  const absl::Status trained = RunLocalCluster(options);
  if (absl::IsCancelled(trained)) {
    return Fail(absl::CancelledError(absl::StrCat(
                    "interrupted; all processes are stopped. The incomplete "
                    "run is in ",
                    options.run_directory)),
                kExitInterrupted);
  }
  if (!trained.ok()) return Fail(trained, kExitFailed);
  const absl::StatusOr<std::string> report = RunReport(options.run_directory);
  if (!report.ok()) return Fail(report.status(), kExitFailed);
  std::printf("\n%s\nThe run is in %s\n", report->c_str(),
              options.run_directory.c_str());
  return kExitDone;
}

}  // namespace

int RunTrainCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddOption("run-dir", "DIR",
                         "New directory for the records of the run; default: "
                         "runs/NAME-TIME.",
                         &flags.run_dir);
  command_line.AddOption("set", "FIELD=VALUE",
                         "Override a field of the job, as in "
                         "compressor.ratio=0.001.",
                         &flags.overrides);
  command_line.AddSwitch("check", "Only check the job and report its problems.",
                         &flags.check);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return Train(flags);
}

}  // namespace ps
