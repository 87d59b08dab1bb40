#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/flags.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/commands.h"
#include "tools/command_line/progress.h"
#include "tools/report/run_comparison.h"
#include "tools/report/run_records.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

struct Flags {
  std::string run;
  std::vector<std::string> more_runs;
  bool json = false;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve compare";
  text.description =
      "Prints a row for each run: the last result on the test set, the time of "
      "training, training examples a second, and the bytes that went from "
      "workers to servers (up) and back (down); in brackets, what that is "
      "times the first run's. Runs that are still running or have failed are "
      "taken up to their last record. On a terminal that is too narrow, "
      "columns go on below. `gradsieve report` draws the same runs.";
  text.examples = {
      {"gradsieve compare runs/none runs/topk runs/sidco",
       "two compressors against none"},
      {"gradsieve compare runs/* --json", "the same for programs"},
  };
  text.exit_codes = {
      {"0", "printed"},
      {"1", "a file cannot be read; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "a file is missing or damaged; the message names it"},
  };
  return text;
}

absl::Status Compare(const Flags& flags) {
  std::vector<std::string> directories = {flags.run};
  directories.insert(directories.end(), flags.more_runs.begin(),
                     flags.more_runs.end());
  std::vector<RunRecords> runs;
  for (const std::string& directory : directories) {
    PS_ASSIGN_OR_RETURN(RunRecords run, ReadRunRecords(directory));
    runs.push_back(std::move(run));
  }
  if (flags.json) {
    std::printf("%s\n", JsonText(ComparisonJson(runs)).c_str());
    return absl::OkStatus();
  }
  // A file or another program gets whole lines.
  const size_t width =
      isatty(STDOUT_FILENO) != 0
          ? static_cast<size_t>(ProgressOptionsFor(STDOUT_FILENO).columns())
          : 0;
  std::printf("%s", FormatTextTable(ComparisonTable(runs), width).c_str());
  return absl::OkStatus();
}

}  // namespace

int RunCompareCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("RUN_DIRECTORY",
                           "The run with which the others are compared.",
                           &flags.run);
  command_line.AddMoreArguments("RUN_DIRECTORY", "The others.",
                                &flags.more_runs);
  command_line.AddSwitch("json", "Print a JSON array in place of the table.",
                         &flags.json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return EndCommand("compare", Compare(flags));
}

}  // namespace ps
