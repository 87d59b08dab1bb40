#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/flags.h"
#include "common/json.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/commands.h"
#include "tools/report/html_report.h"
#include "tools/report/run_records.h"
#include "tools/report/run_table.h"
#include "tools/report/tail_plot.h"

namespace ps {
namespace {

struct Flags {
  std::string run;
  std::vector<std::string> more_runs;
  std::string output;
  std::string seconds_per_iteration;
  bool markdown = false;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve report";
  text.description =
      "Draws what runs have recorded, each run as a line: test results and "
      "training loss by iterations, time or bytes; throughput, bytes both "
      "ways, achieved over target ratio, stages and residual; "
      "and, where RUN_DIRECTORY/gradients/gradients.npy exists "
      "(training.dump_gradients without a directory of its own), how the "
      "magnitudes of its last gradient are distributed, against the laws that "
      "SIDCo fits. "
      "The page is one self-contained HTML file. Runs that are still running "
      "or have failed are shown up to their last record.";
  text.examples = {
      {"gradsieve report runs/lenet", "write runs/lenet/report.html"},
      {"gradsieve report runs/e runs/gp runs/p --output=sidco.html",
       "three runs in the same plots"},
  };
  text.exit_codes = {
      {"0", "written"},
      {"1", "a file cannot be read or written; the message says why"},
      {"64", "the command line makes no sense"},
      {"78", "a file is missing or damaged; the message names it"},
  };
  return text;
}

// No plot if the run has dumped no gradients.
absl::Status AddTailPlot(const RunRecords& run, const std::string& label,
                         Json* plots) {
  const std::string path =
      absl::StrCat(run.directory, "/gradients/gradients.npy");
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  const absl::StatusOr<std::vector<float>> gradient = ReadLastGradient(path);
  if (!gradient.ok()) {
    return absl::Status(gradient.status().code(),
                        absl::StrCat(gradient.status().message(),
                                     "; move it away to draw the rest"));
  }
  plots->push_back(
      TailPlot(absl::StrCat("Last dumped gradient of ", label), *gradient));
  return absl::OkStatus();
}

// Applies --seconds-per-iteration.
absl::Status SetTimes(const std::string& text, std::vector<RunRecords>* runs) {
  if (text.empty()) return absl::OkStatus();
  const std::vector<std::string> times = absl::StrSplit(text, ',');
  if (times.size() != runs->size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--seconds-per-iteration has ", times.size(), " times for ",
        runs->size(), " runs; it must have one each"));
  }
  for (size_t i = 0; i < times.size(); ++i) {
    double seconds = 0;
    if (!absl::SimpleAtod(times[i], &seconds) || !(seconds > 0) ||
        !std::isfinite(seconds)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--seconds-per-iteration has \"", times[i],
                       "\"; it must have numbers of seconds above 0"));
    }
    SetIterationSeconds(seconds, &(*runs)[i]);
  }
  return absl::OkStatus();
}

absl::Status Report(const Flags& flags) {
  std::vector<std::string> directories = {flags.run};
  directories.insert(directories.end(), flags.more_runs.begin(),
                     flags.more_runs.end());
  std::vector<RunRecords> runs;
  for (const std::string& directory : directories) {
    PS_ASSIGN_OR_RETURN(RunRecords run, ReadRunRecords(directory));
    runs.push_back(std::move(run));
  }
  PS_RETURN_IF_ERROR(SetTimes(flags.seconds_per_iteration, &runs));
  const std::vector<std::string> labels = RunLabels(runs);
  Json tails = Json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    PS_RETURN_IF_ERROR(AddTailPlot(runs[i], labels[i], &tails));
  }
  const std::string output =
      flags.output.empty() ? flags.run + "/report.html" : flags.output;
  PS_RETURN_IF_ERROR(WriteFileAtomically(output, HtmlReport(runs, tails)));
  if (flags.markdown) std::printf("%s\n", MarkdownReport(runs).c_str());
  std::printf("The report is %s\n", output.c_str());
  return absl::OkStatus();
}

}  // namespace

int RunReportCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("RUN_DIRECTORY", "Directory of a run.", &flags.run);
  command_line.AddMoreArguments("RUN_DIRECTORY", "Other runs to compare with.",
                                &flags.more_runs);
  command_line.AddOption("output", "FILE.html",
                         "File for the page; default: report.html in the first "
                         "run directory.",
                         &flags.output);
  command_line.AddOption(
      "seconds-per-iteration", "S,...",
      "Draw times as if an iteration of each run took so long, for example as "
      "measured on a slow network.",
      &flags.seconds_per_iteration);
  command_line.AddSwitch("markdown", "Also print the table, as Markdown.",
                         &flags.markdown);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  return EndCommand("report", Report(flags));
}

}  // namespace ps
