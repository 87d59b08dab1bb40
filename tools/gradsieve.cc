// The `gradsieve` program: all commands that users start by hand.
#include "common/flags.h"
#include "common/program.h"
#include "tools/advise/command.h"
#include "tools/bench/command.h"
#include "tools/certs_command.h"
#include "tools/checkpoint/command.h"
#include "tools/commands.h"
#include "tools/compare_command.h"
#include "tools/compress_command.h"
#include "tools/doctor/command.h"
#include "tools/launch/command.h"
#include "tools/plan_memory_command.h"
#include "tools/report_command.h"
#include "tools/train_command.h"

namespace ps {
namespace {

const Command kCommands[] = {
    {"train", "Train a job on this machine, with progress and a summary.",
     RunTrainCommand},
    {"launch", "Train a job on several hosts, which ssh reaches.",
     RunLaunchCommand},
    {"advise", "Predict which compressor pays for a job on a given network.",
     RunAdviseCommand},
    {"compress", "Apply a compressor to gradients in a .npy file.",
     RunCompressCommand},
    {"compare", "Print results, speed and bytes of several runs as a table.",
     RunCompareCommand},
    {"report", "Draw what runs have recorded, as an HTML page.",
     RunReportCommand},
    {"certs", "Make the certificates of a job on several machines.",
     RunCertsCommand},
    {"plan-memory", "Print how much memory the servers of a job can take.",
     RunPlanMemoryCommand},
    {"checkpoint", "List, check and export the snapshots of a job.",
     RunCheckpointCommand},
    {"bench", "Measure what this machine does.", RunBenchCommand},
    {"doctor", "Report what this machine has and what it lacks.",
     RunDoctorCommand},
};

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
      {"gradsieve COMMAND --help", "everything about one command"},
  };
  return text;
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) {
  ps::InitProgram(argv[0]);
  ps::EndProgram(ps::RunCommand(ps::Text(), ps::kCommands, argc, argv));
}
