// The `gradsieve` program: all commands that users start by hand.
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/program.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/completion.h"

namespace ps {
namespace {

int RunCompletionCommand(int argc, char** argv);

const Command kCommands[] = {
    {"train", "Train a job on this machine, with progress and a summary.",
     RunTrainCommand},
    {"launch", "Train a job on several hosts, which ssh reaches.",
     RunLaunchCommand},
    {"status", "Say how far a training is.", RunStatusCommand},
    {"evaluate", "Say how good weights are on a test or training set.",
     RunEvaluateCommand},
    {"predict", "Print what a model takes images for.", RunPredictCommand},
    {"influence", "Say which training examples taught a model what it does.",
     RunInfluenceCommand},
    {"advise", "Predict which compressor pays for a job on a given network.",
     RunAdviseCommand},
    {"plan", "Predict what limits a job with up to 1,000 workers.",
     RunPlanCommand},
    {"compress", "Apply a compressor to gradients in a .npy file.",
     RunCompressCommand},
    {"compare", "Print results, speed and bytes of several runs as a table.",
     RunCompareCommand},
    {"report", "Draw what runs have recorded, as an HTML page.",
     RunReportCommand},
    {"certs", "Make the certificates of a job on several machines.",
     RunCertsCommand},
    {"manifests", "Write the Kubernetes manifests of a run.",
     RunManifestsCommand},
    {"model", "Show the layers of a job's network, or move it as ONNX.",
     RunModelCommand},
    {"plan-memory", "Print how much memory the servers of a job can take.",
     RunPlanMemoryCommand},
    {"explain", "Say what a field of a job means.", RunExplainCommand},
    {"list", "List the models, data sets, compressors and so on by name.",
     RunListCommand},
    {"checkpoint", "List, check and export the snapshots of a job.",
     RunCheckpointCommand},
    {"bench", "Measure what this machine does.", RunBenchCommand},
    {"doctor", "Report what this machine has and what it lacks.",
     RunDoctorCommand},
    {"completion", "Print a script that completes words in bash or zsh.",
     RunCompletionCommand},
};

template <std::string (*kMake)(const std::string&, absl::string_view)>
int PrintCompletion(int argc, char** argv) {
  CommandText text;
  text.program = absl::StrCat("gradsieve completion ", argv[0]);
  text.description =
      "Prints a script that completes the words of this program.";
  CommandLine command_line(text);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  std::fputs(
      kMake("gradsieve", DescribeCommands("gradsieve", kCommands)).c_str(),
      stdout);
  return kExitDone;
}

int RunCompletionCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve completion";
  text.description =
      "Prints a script that completes commands, options and files.";
  text.examples = {
      {"source <(gradsieve completion bash)", "in this bash, or in ~/.bashrc"},
      {"source <(gradsieve completion zsh)", "the same for zsh"},
  };
  constexpr Command kShells[] = {
      {"bash", "For bash.", PrintCompletion<BashCompletion>},
      {"zsh", "For zsh.", PrintCompletion<ZshCompletion>},
  };
  return RunCommand(text, kShells, argc, argv);
}

CommandText Text() {
  CommandText text;
  text.program = "gradsieve";
  text.description =
      "Trains neural networks on many workers over ordinary networks: workers "
      "compress their gradients, and parameter servers add them up.";
  text.examples = {
      {"gradsieve train deploy/examples/quickstart.textproto",
       "train LeNet-5 on generated digits, 2 workers and 2 servers"},
      {"gradsieve train JOB --set compressor.ratio=0.001",
       "the same job with one field changed"},
      {"gradsieve help COMMAND", "everything about one command"},
  };
  return text;
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  ps::InitProgram(argv[0]);
  ps::EndProgram(ps::RunCommand(ps::Text(), ps::kCommands, argc, argv));
}
