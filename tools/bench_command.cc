#include "tools/bench_command.h"

#include "common/flags.h"
#include "tools/bench_compressors_command.h"
#include "tools/commands.h"

namespace ps {
namespace {

const Command kSubjects[] = {
    {"compressors", "Compressors against the memory's speed and exact top-k.",
     RunBenchCompressorsCommand},
};

}  // namespace

int RunBenchCommand(int argc, char** argv) {
  CommandText text;
  text.program = "gradsieve bench";
  text.description =
      "Measures what this machine does. Every result is verified before it is "
      "printed, and stands beside a bound that was measured in the same run.";
  text.examples = {
      {"gradsieve bench compressors --names=sidco_e,topk",
       "two of the compressors, at the usual sizes and ratios"},
  };
  return RunCommand(text, kSubjects, argc, argv);
}

}  // namespace ps
