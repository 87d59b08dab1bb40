// The `gradsieve` program: everything that a person starts by hand.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/flags.h"
#include "common/program.h"
#include "tools/compress_command.h"
#include "tools/report_command.h"
#include "tools/train_command.h"

namespace ps {
namespace {

struct Command {
  const char* name;
  const char* meaning;
  // argv[0] is the command's own name. Returns the exit code.
  int (*run)(int argc, char** argv);
};

const Command kCommands[] = {
    {"train", "Train a job on this machine, with progress and a summary.",
     RunTrainCommand},
    {"compress", "Apply a compressor to gradients in a .npy file.",
     RunCompressCommand},
    {"report", "Draw what runs have recorded, as an HTML page.",
     RunReportCommand},
};

std::string Help() {
  CommandText text;
  text.program = "gradsieve";
  text.description =
      "Trains neural networks on many workers over ordinary networks: workers "
      "sieve their gradients, parameter servers add up what is left.";
  for (const Command& command : kCommands) {
    text.commands.push_back({command.name, command.meaning});
  }
  text.examples = {
      {"gradsieve train deploy/examples/quickstart.textproto",
       "train LeNet-5 on generated digits, 2 workers and 2 servers"},
      {"gradsieve train JOB --set compressor.ratio=0.001",
       "the same job with one field changed"},
      {"gradsieve COMMAND --help", "everything about one command"},
  };
  return CommandLine(text).Help();
}

int Main(int argc, char** argv) {
  InitProgram(argv[0]);
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "--help" || name == "-h" || name == "help") {
    std::fputs(Help().c_str(), name.empty() ? stderr : stdout);
    return name.empty() ? kExitUsage : kExitDone;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(argc - 1, argv + 1);
    names.push_back(command.name);
  }
  const std::string nearest = NearestWord(name, names);
  std::fprintf(stderr, "gradsieve: there is no command \"%s\"%s\n",
               name.c_str(),
               nearest.empty()
                   ? "; gradsieve --help lists them"
                   : absl::StrCat("; did you mean \"", nearest, "\"?").c_str());
  return kExitUsage;
}

}  // namespace
}  // namespace ps

int main(int argc, char** argv) { return ps::Main(argc, argv); }
