#include "tools/influence/flags.h"

#include "absl/strings/str_cat.h"
#include "common/job_fields.h"
#include "tools/influence/plan.h"

namespace ps {
namespace {

constexpr int64_t kMostSketch = 1 << 20;

}  // namespace

CommandText InfluenceHelp() {
  CommandText text;
  text.program = "gradsieve influence";
  text.description =
      "Says which training examples taught a model what it does, from the "
      "snapshots of its training (TracIn): for a prediction, those that "
      "lowered its loss most (proponents) and raised it most (opponents); with "
      "--self, those that had to teach themselves, among which are examples "
      "with wrong labels. The job must keep snapshots from its whole training: "
      "checkpoint { every: N keep_last: M }. For models of images.";
  text.examples = {
      {"gradsieve influence runs/mnist --query=17 --page=why.html",
       "why test example 17 is taken for what it is, with pictures"},
      {"gradsieve influence runs/mnist --self --top=50 --json=self.json",
       "which training examples may have wrong labels"},
      {"gradsieve influence runs/photos --query=cat.jpg --label=cat "
       "--layers=all",
       "a photograph, by the gradients of all layers"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "a file or a process failed, or a value was not finite"},
      {"64", "the command line makes no sense"},
      {"78",
       "the run, its snapshots or its data do not fit; the message says "
       "what to change"},
      {"130", "interrupted"},
  };
  return text;
}

void AddInfluenceOptions(InfluenceFlags* flags, CommandLine* command_line) {
  command_line->AddArgument("RUN", "The directory of a run.",
                            &flags->evaluated.job);
  command_line->AddOption("query", "QUERY",
                          "A prediction to explain: the number of an example, "
                          "from 0; a file with a number on each line; or a "
                          "JPEG or PNG file. May be repeated.",
                          &flags->query.queries);
  command_line->AddOption("query-split", "SET",
                          "The set of numbered queries: test or train.",
                          &flags->query.split);
  command_line->AddOption("label", "CLASS", "The class of queries from images.",
                          &flags->query.label);
  command_line->AddSwitch("self",
                          "Rank training examples by their influence on "
                          "themselves.",
                          &flags->self);
  command_line->AddOption("mislabelled", "FILE",
                          "With --self: numbers of training examples whose "
                          "labels are known to be wrong, one on each line; "
                          "prints how many of them come first.",
                          &flags->mislabelled);
  command_line->AddOption("layers", "LAYERS",
                          "Whose gradients count: last, by forward passes "
                          "alone; all; or names with commas, as `gradsieve "
                          "model show` prints them.",
                          &flags->layers);
  command_line->AddSwitch("no-bias", "Leave the last layer's bias out.",
                          &flags->no_bias);
  command_line->AddOption("checkpoints", "WHICH",
                          "Snapshots to use: spread:N, the N whose training "
                          "losses have the most equal steps; every:N; all; or "
                          "numbers of pushes, with commas.",
                          &flags->checkpoints);
  command_line->AddOption("snapshots", "DIR",
                          "The checkpoint.directory, if it is not in the run.",
                          &flags->snapshots);
  command_line->AddOption("top", "K", "Length of the lists.", &flags->top);
  command_line->AddOption("processes", "N",
                          "Number of processes; 0: that of the processors. "
                          "Does not change the result.",
                          &flags->processes);
  command_line->AddOption("json", "FILE",
                          "Write everything as a JSON object, with all digits.",
                          &flags->json);
  command_line->AddOption("page", "FILE",
                          "Write an HTML page with the examples' pictures.",
                          &flags->page);
  command_line->AddOption("sketches", "FILE",
                          "Write a .npy file with a row for each training "
                          "example and then each query; the inner product of "
                          "two rows estimates influence.",
                          &flags->sketches);
  command_line->AddOption("sketch-size", "N",
                          "Numbers in a row for each snapshot, at most.",
                          &flags->sketch_size);
  command_line->AddOption("data", "DIR",
                          "Where the training data are now, in place of "
                          "data.directory.",
                          &flags->evaluated.data);
  command_line->AddOption("classes", "FILE",
                          "The names of the classes, one on each line; "
                          "default: classes.txt of the run.",
                          &flags->evaluated.classes);
  AddOverrides(command_line, &flags->evaluated.overrides);
}

absl::Status CheckInfluenceFlags(const InfluenceFlags& flags) {
  if (flags.layers.find_first_not_of(',') == std::string::npos) {
    return absl::InvalidArgumentError(
        "--layers names none; must be last, all, or names with commas");
  }
  if (flags.no_bias && flags.layers != kLastLayer) {
    return absl::InvalidArgumentError("--no-bias is for --layers=last");
  }
  if (!flags.sketches.empty() && flags.layers != kLastLayer) {
    return absl::InvalidArgumentError("--sketches is for --layers=last");
  }
  if (flags.sketch_size < 1 || flags.sketch_size > kMostSketch) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sketch-size is ", flags.sketch_size,
                     "; must be in [1, ", kMostSketch, "]"));
  }
  if (flags.query.split != "test" && flags.query.split != "train") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--query-split is ", flags.query.split, "; must be test or train"));
  }
  if (!flags.self && flags.query.queries.empty() && flags.sketches.empty()) {
    return absl::InvalidArgumentError(
        "give --query, --self or --sketches; `gradsieve help influence` says "
        "what they mean");
  }
  if (!flags.mislabelled.empty() && !flags.self) {
    return absl::InvalidArgumentError(
        "--mislabelled judges the ranking of --self; give both");
  }
  if (flags.top < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top is ", flags.top, "; must be at least 1"));
  }
  if (flags.processes < 0 || flags.processes > 1024) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--processes is ", flags.processes, "; must be in [0, 1024]"));
  }
  return absl::OkStatus();
}

}  // namespace ps
