#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "tools/bench/network/bench.h"
#include "tools/bench/network/comparison_report.h"
#include "tools/bench/network/flags.h"
#include "tools/bench/network/slow_network.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"
#include "tools/process/local_cluster.h"

namespace ps {
namespace {

CommandText Text() {
  CommandText text;
  text.program = "gradsieve bench network";
  text.description =
      "Trains one job with several compressors, one after the other, on a slow "
      "network that it makes on this machine. Every worker and every server is "
      "a host of its own (a network namespace), joined to the others by a "
      "switch, and token-bucket filters limit what a host sends and receives "
      "to the given bandwidth. The machine's own network is not touched, and "
      "nothing is left when the command ends, however it ends. All processes "
      "share this machine's processors, so computation takes longer than on "
      "separate hosts. Needs root and Debian's package iproute2. A setting is "
      "NAME[:RATIO][:VALUE_CODE][:FIELD=VALUE]...; everything else is as in "
      "the job, but \"none\" without a value code is exact. Reports for each "
      "setting the mean time of an iteration, the "
      "time that the links need for its messages, bytes, achieved ratio, "
      "seconds by phase, and the time to a training loss.";
  text.examples = {
      {"gradsieve bench network job.textproto --bandwidth=100mbit "
       "--settings=none,none:bf16,topk:0.001,sidco_e:0.001",
       "four settings at 100 Mbit/s"},
      {"gradsieve bench network job.textproto --iterations=2000 "
       "--target-loss=0.5 --stop-at-target --json=loss.json",
       "which setting reaches a loss of 0.5 first; with JSON"},
      {"gradsieve bench network job.textproto --bandwidth=100mbit,1gbit "
       "--timed-iterations=5 --warm-up=2 --iterations=500 --target-loss=2",
       "the time to a loss at two bandwidths, from one run of each setting"},
      {"gradsieve bench network job.textproto "
       "--settings=sidco_e:0.01,sidco_e:0.01:training.bucket_megabytes=4",
       "the same compressor with and without buckets"},
  };
  text.exit_codes = {
      {"0", "measured"},
      {"1",
       "a run failed, or this machine cannot make the network; the message "
       "says why"},
      {"64", "the command line makes no sense, or the run directory is taken"},
      {"78", "the job's config is wrong"},
      {"130", "interrupted; the measurements so far are shown"},
  };
  return text;
}

int Fail(const absl::Status& status, int exit_code) {
  return FailCommand("bench network", status, exit_code);
}

int Show(const NetworkBenchResult& result, const std::string& run_directory,
         std::optional<AtomicFile>* json_file) {
  std::vector<ComparedRun> runs;
  if (!result.comparisons.empty()) runs = result.comparisons[0].runs;
  if (!runs.empty()) {
    for (const NetworkComparison& comparison : result.comparisons) {
      std::printf("\n%s", ComparisonTable(comparison).c_str());
    }
    std::printf("\nThe runs are in %s\n", run_directory.c_str());
    const absl::Status written =
        CommitOutput(ComparisonJson(result.comparisons), json_file);
    if (!written.ok()) return Fail(written, kExitFailed);
  }
  if (absl::IsCancelled(result.status)) {
    return Fail(result.status, kExitInterrupted);
  }
  if (!result.status.ok()) return Fail(result.status, kExitFailed);
  for (const ComparedRun& run : runs) {
    if (run.failure.empty()) continue;
    return Fail(absl::InternalError(
                    absl::StrCat(run.setting, " failed; the table says why")),
                kExitFailed);
  }
  return kExitDone;
}

int Bench(const NetworkBenchFlags& flags) {
  const absl::StatusOr<JobConfig> job = LoadJob(flags.job, flags.overrides);
  if (!job.ok()) return Fail(job.status(), kExitConfig);
  absl::StatusOr<NetworkBenchOptions> options =
      ParseNetworkBenchFlags(flags, *job);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  const absl::Status available = SlowNetwork::CheckAvailable();
  if (!available.ok()) return Fail(available, kExitFailed);
  const absl::Status found = FindJobPrograms().status();
  if (!found.ok()) return Fail(found, kExitFailed);
  // Before the measurement, because it takes long.
  absl::StatusOr<std::optional<AtomicFile>> json_file = OpenOutput(flags.json);
  if (!json_file.ok()) return Fail(json_file.status(), kExitFailed);
  if (options->run_directory.empty()) {
    absl::StatusOr<std::string> made =
        MakeDefaultRunDirectory(absl::StrCat("network-", job->name()));
    if (!made.ok()) return Fail(made.status(), kExitFailed);
    options->run_directory = *std::move(made);
  } else {
    const absl::Status made = MakeFolderOfRuns(options->run_directory);
    if (!made.ok()) return Fail(made, kExitUsage);
  }
  return Show(RunNetworkBench(*options), options->run_directory, &*json_file);
}

}  // namespace

int RunBenchNetworkCommand(int argc, char** argv) {
  NetworkBenchFlags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddOption("bandwidth", "RATE,RATE,...",
                         "Bandwidth of each host's link in each direction: a "
                         "number with kbit, mbit or gbit. Several need "
                         "--timed-iterations.",
                         &flags.bandwidth);
  command_line.AddOption("settings", "SETTING,SETTING,...",
                         "Settings, which are compared with the first one.",
                         &flags.settings);
  command_line.AddOption("iterations", "N", "Iterations of each run.",
                         &flags.iterations);
  command_line.AddOption(
      "timed-iterations", "N",
      "Number of iterations to time at each bandwidth, one after the other in "
      "the same run. The others run without a limit and only show the loss: "
      "what a synchronous job learns does not depend on its network. 0: all "
      "iterations run at the one bandwidth and are timed.",
      &flags.timed_iterations);
  command_line.AddOption("warm-up", "N",
                         "Number of first iterations that means exclude. "
                         "Where workers take local steps, this, "
                         "--timed-iterations and --smoothing count pushes.",
                         &flags.warm_up);
  command_line.AddOption("target-loss", "X",
                         "Also report when the training loss was at most this.",
                         &flags.target_loss);
  command_line.AddOption("smoothing", "N",
                         "Iterations over which the training loss is averaged.",
                         &flags.smoothing);
  command_line.AddSwitch("stop-at-target",
                         "End a run when it has reached --target-loss, or "
                         "after --iterations.",
                         &flags.stop_at_target);
  command_line.AddSwitch("evaluate",
                         "Also evaluate each run on the test set after its "
                         "last iteration; this time does not count.",
                         &flags.evaluate);
  command_line.AddOption("json", "FILE",
                         "Write all figures as one JSON object.", &flags.json);
  command_line.AddOption("run-dir", "DIR",
                         "New directory for the records of the runs; default: "
                         "runs/network-NAME-TIME.",
                         &flags.run_dir);
  AddOverrides(&command_line, &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return Bench(flags);
}

}  // namespace ps
