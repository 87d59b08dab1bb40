#include <cstdio>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/run_directory.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tools/command_line/commands.h"
#include "tools/model/layer_table.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  std::vector<std::string> overrides;
  bool json = false;
  bool layers = false;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve model show";
  text.description =
      "Prints the layers of a job's network with the shape of each output and "
      "the number of parameters. Reads the job's data, on which both depend. "
      "Works for every model; with --layers, prints it as a network that a job "
      "describes layer by layer, to change it.";
  text.examples = {
      {"gradsieve model show job.textproto", "a table"},
      {"gradsieve model show job.textproto --set model.name=resnet20 --layers",
       "ResNet-20 for this job's data, to change it"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the data cannot be read"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong"},
  };
  return text;
}

absl::Status Show(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(JobConfig config,
                      LoadJob(JobFileOf(flags.job), flags.overrides));
  config.mutable_machine()->set_device("cpu");
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(config, /*worker_rank=*/0));
  const ExampleShape example = parts.data.train->example_shape();
  std::string text;
  if (flags.layers) {
    text = LayersText(*parts.model);
  } else if (flags.json) {
    PS_ASSIGN_OR_RETURN(text, LayerJson(*parts.model, example));
  } else {
    PS_ASSIGN_OR_RETURN(text, LayerTable(*parts.model, example));
  }
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int RunModelShow(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument(
      "JOB", "The job, a .textproto file; or the directory of a run.",
      &flags.job);
  AddOverrides(&command_line, &flags.overrides, "model.name=resnet20");
  command_line.AddSwitch("json", "Print JSON in place of a table.",
                         &flags.json);
  command_line.AddSwitch(
      "layers", "Print the network as a job describes it (model.layers).",
      &flags.layers);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("model show", Show(flags));
}

}  // namespace ps
