#include "common/flags.h"
#include "tools/command_line/commands.h"

namespace ps {
namespace {

const Command kSubjects[] = {
    {"compressors", "Compressors against the memory's speed and exact top-k.",
     RunBenchCompressorsCommand},
    {"push-pull",
     "Gradients to a parameter server and weights back, against plain TCP.",
     RunBenchPushPullCommand},
    {"load",
     "Many simulated workers against parameter servers for a long time.",
     RunBenchLoadCommand},
    {"network", "One job with several compressors on a slow network.",
     RunBenchNetworkCommand},
};

}  // namespace

int RunBenchCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve bench";
  text.description =
      "Measures the speed of this machine. Every result is verified before it "
      "is printed, together with a bound that was measured in the same run.";
  text.examples = {
      {"gradsieve bench compressors --names=sidco_e,topk",
       "two of the compressors, at the usual sizes and ratios"},
      {"gradsieve bench push-pull --workers=2",
       "two workers and a parameter server on this machine"},
      {"gradsieve bench load --workers=64 --servers=2 --seconds=600",
       "64 simulated workers against two servers for ten minutes"},
      {"gradsieve bench network job.textproto --bandwidth=100mbit",
       "one job with several compressors, on a network of 100 Mbit/s"},
  };
  return RunCommand(text, kSubjects, argc, argv);
}

}  // namespace ps
