#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/status_macros.h"
#include "tools/bench/processes/peer.h"
#include "tools/bench/push_pull/measurement.h"
#include "tools/bench/push_pull/options.h"
#include "tools/bench/push_pull/peer.h"
#include "tools/bench/push_pull/report.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/options.h"

namespace ps {
namespace {

CommandText Text() {
  CommandText text;
  text.program = "gradsieve bench push-pull";
  text.description =
      "Times dense fp32 pushes to a parameter server that adds them up and "
      "takes a step, and pulls of its weights, over TCP on the loopback "
      "interface between processes of this machine. The floor is plain TCP "
      "between two processes: the same floats in messages of 1 MiB, which are "
      "added up as they arrive when pushed, and received in place when pulled. "
      "All four are timed in turns, so that a busy machine slows all alike. "
      "After each round every worker's weights are verified, element by "
      "element, against those that the pushes so far must give. GB/s means "
      "10^9 bytes of floats a second, for all workers together. Needs about "
      "11 times the model's memory, plus 7 times for each further worker.";
  text.examples = {
      {"gradsieve bench push-pull --json=push_pull.json",
       "the usual sizes; also as JSON"},
      {"gradsieve bench push-pull --workers=2 --server-threads=4",
       "two workers at the same time, and a server with four threads"},
  };
  text.exit_codes = {
      {"0", "measured"},
      {"1", "a result was wrong, a process failed, or memory did not suffice"},
      {"64", "the command line makes no sense"},
      {"130", "interrupted"},
  };
  return text;
}

absl::Status Bench(const PushPullOptions& options) {
  PS_ASSIGN_OR_RETURN(std::optional<AtomicFile> json, OpenOutput(options.json));
  PS_ASSIGN_OR_RETURN(const std::vector<PushPullRound> rounds,
                      MeasurePushPull(options, [](const PushPullRound& round) {
                        PrintNow(PushPullRoundText(round));
                      }));
  PrintNow(PushPullText(options, rounds));
  return CommitOutput(PushPullJson(options, rounds), &json);
}

}  // namespace

int RunBenchPushPullCommand(int argc, char** argv) {
  if (argc > 1 && absl::string_view(argv[1]) == kPeer) {
    return RunPushPullPeer(argc - 1, argv + 1);
  }
  PushPullOptions options;
  CommandLine command_line(Text());
  AddPushPullOptions(&options, &command_line);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  const absl::Status checked = CheckPushPullOptions(options);
  if (!checked.ok()) return FailCommand("bench push-pull", checked, kExitUsage);
  return EndCommand("bench push-pull", Bench(options), kExitFailed);
}

}  // namespace ps
