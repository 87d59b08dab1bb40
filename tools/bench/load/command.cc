#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "tools/bench/load/measurement.h"
#include "tools/bench/load/options.h"
#include "tools/bench/load/peer.h"
#include "tools/bench/load/report.h"
#include "tools/bench/processes/peer.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/human_format.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

// Seconds between two lines of progress.
constexpr double kProgressSeconds = 10;

CommandText Text() {
  CommandText text;
  text.program = "gradsieve bench load";
  text.description =
      "Keeps parameter servers on this machine under load: simulated workers "
      "push payloads that the job's compressor made beforehand from real or "
      "generated gradients, and receive the answers, iteration after "
      "iteration, without computing anything in between. Reports how long "
      "pushes and iterations took, processor time, and whether the servers' "
      "memory stays flat. At the end the weights are compared, element by "
      "element, with those that the pushes must give (optimizer sgd). An error "
      "in any call ends the load. A sweep runs a load for each of several "
      "numbers of workers, or sizes of the model, and prints a table.";
  text.examples = {
      {"gradsieve bench load --seconds=600 --json=load.json",
       "64 workers against 2 servers for ten minutes; also as JSON"},
      {"gradsieve bench load --gradients=runs/a/gradients/gradients.npy",
       "with the gradients of a training run"},
      {"gradsieve bench load --sweep-workers=1,2,4,8,16,32,64",
       "how the time of an iteration grows with workers"},
      {"gradsieve bench load --workers=4 --sweep-megabytes=4,16,64,256,1024",
       "how it grows with parameters: 1 to 256 million"},
  };
  text.exit_codes = {
      {"0", "no error; memory is flat, or the load was too short to tell"},
      {"1", "a call failed, a weight was wrong, or the servers' memory grows"},
      {"64", "the command line makes no sense"},
      {"130", "interrupted"},
  };
  return text;
}

absl::StatusOr<LoadRun> RunLoad(const LoadSettings& settings) {
  double next_line = kProgressSeconds;
  PS_ASSIGN_OR_RETURN(LoadResult result,
                      MeasureLoad(settings, [&](const LoadProgress& progress) {
                        if (progress.seconds < next_line) return;
                        next_line = progress.seconds + kProgressSeconds;
                        PrintNow(absl::StrFormat(
                            "%.0f s: %s iterations, servers have %s\n",
                            progress.seconds, FormatCount(progress.iterations),
                            FormatBytes(progress.server_bytes)));
                      }));
  return LoadRun{settings, std::move(result)};
}

absl::Status Bench(const LoadOptions& options,
                   const std::vector<LoadSettings>& loads) {
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> json, OpenOutput(options.json));
  const bool sweep =
      !options.sweep_workers.empty() || !options.sweep_megabytes.empty();
  std::vector<LoadRun> runs;
  for (const LoadSettings& settings : loads) {
    absl::StatusOr<LoadRun> run = RunLoad(settings);
    if (!run.ok()) {
      return sweep
                 ? Annotate(run.status(),
                            absl::StrCat(settings.options.workers, " workers, ",
                                         settings.elements, " parameters"))
                 : run.status();
    }
    if (sweep) {
      PrintNow(absl::StrFormat("%d workers, %s parameters: %.3f ms\n",
                               settings.options.workers,
                               FormatCount(settings.elements),
                               1e3 * run->result.SecondsPerIteration()));
    }
    runs.push_back(*std::move(run));
  }
  PrintNow(sweep ? SweepText(runs) : LoadText(runs.front()));
  PS_RETURN_IF_ERROR(
      CommitOutput(sweep ? SweepJson(runs) : LoadJson(runs.front()), &json));
  for (const LoadRun& run : runs) PS_RETURN_IF_ERROR(CheckMemoryFlat(run));
  return absl::OkStatus();
}

}  // namespace

int RunBenchLoadCommand(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == kPeer) {
    return RunLoadPeer(argc - 1, argv + 1);
  }
  LoadOptions options;
  CommandLine command_line(Text());
  AddLoadOptions(&options, &command_line);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::StatusOr<std::vector<LoadSettings>> loads =
      LoadSettingsOf(options);
  if (!loads.ok()) {
    // An invalid file is not an error of the command line.
    return FailCommand(
        "bench load", loads.status(),
        absl::IsInvalidArgument(loads.status()) ? kExitUsage : kExitFailed);
  }
  return EndCommand("bench load", Bench(options, *loads), kExitFailed);
}

}  // namespace ps
