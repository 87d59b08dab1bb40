#include "tools/train_command.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/flags.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "tools/command_failure.h"
#include "tools/local_cluster.h"
#include "tools/run_report.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

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
      "processes, shows their log and how far they are, stops everything when "
      "one of them fails or at Ctrl-C, and ends with a summary. The run "
      "directory then holds the resolved config, metrics.jsonl, the logs, "
      "weights.safetensors and summary.json.";
  text.examples = {
      {"gradsieve train job.textproto --set training.epochs=3",
       "the same job, but three epochs"},
      {"gradsieve train job.textproto --check",
       "only say what is wrong with the job"},
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

// The build leaves each program in its folder's own directory; an installation
// may have them side by side. Both are looked for beside this program.
absl::StatusOr<std::string> FindProgram(const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return absl::InternalError("/proc/self/exe cannot be read");
  const fs::path candidates[] = {
      self.parent_path() / name,
      self.parent_path().parent_path() / name / name,
  };
  for (const fs::path& candidate : candidates) {
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return absl::NotFoundError(
      absl::StrCat("the program ", name, " is neither ", candidates[0].string(),
                   " nor ", candidates[1].string(),
                   "; build it with: bazel build --config=opt //", name));
}

// A new directory, or an empty one.
absl::Status MakeRunDirectory(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_empty(path, error)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "the run directory ", path,
        " is not empty; name another one with --run-dir, or remove it"));
  }
  fs::create_directories(fs::path(path) / "logs", error);
  if (error) {
    return absl::ErrnoToStatus(
        error.value(), absl::StrCat("cannot make the run directory ", path));
  }
  return absl::OkStatus();
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
  options.run_directory = flags.run_dir;
  if (options.run_directory.empty()) {
    options.run_directory = absl::StrCat(
        "runs/", config->name(), "-",
        absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone()));
  }
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
                    "interrupted; everything is stopped. What there is of the "
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
                         "Where the run is recorded, a new directory; without "
                         "it runs/NAME-TIME.",
                         &flags.run_dir);
  command_line.AddOption("set", "FIELD=VALUE",
                         "Override a field of the job, as in "
                         "compressor.ratio=0.001.",
                         &flags.overrides);
  command_line.AddSwitch("check", "Say what is wrong with the job, and stop.",
                         &flags.check);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return Train(flags);
}

}  // namespace ps
