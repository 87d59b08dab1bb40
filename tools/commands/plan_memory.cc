#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "server/limits/memory_bound.h"
#include "tools/command_line/commands.h"
#include "tools/commands/server_bounds.h"
#include "worker/job_check.h"
#include "worker/worker_memory.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  std::vector<std::string> overrides;
  bool worker = false;
  bool json = false;
};

Json ToJson(int server, const MemoryBound& bound) {
  return {{"server", server},
          {"total_bytes", bound.total()},
          {"program_bytes", bound.program},
          {"weights_bytes", bound.weights},
          {"messages_bytes", bound.messages},
          {"answers_bytes", bound.answers},
          {"calls_bytes", bound.calls},
          {"snapshot_bytes", bound.snapshot}};
}

Json ToJson(const WorkerMemory& memory) {
  return {{"total_bytes", memory.total()},
          {"program_bytes", memory.program},
          {"data_bytes", memory.data},
          {"weights_bytes", memory.weights},
          {"activations_bytes", memory.activations},
          {"scratch_bytes", memory.scratch},
          {"compression_bytes", memory.compression},
          {"messages_bytes", memory.messages},
          {"snapshot_bytes", memory.snapshot}};
}

CommandText Text() {
  CommandText text;
  text.program = "gradsieve plan-memory";
  text.description =
      "Prints how much memory each server of a job takes at most, whatever "
      "workers and strangers send. Reads the job's data, on which the size of "
      "the model depends. What is read back after a restart comes on top: the "
      "log since the last snapshot and, for each worker that was started "
      "again, a copy of the weights. With --worker it prints about how much "
      "worker 0 takes, which also evaluates, on the CPU.";
  text.examples = {
      {"gradsieve plan-memory job.textproto --set cluster.num_workers=16",
       "the same job with more workers"},
      {"gradsieve plan-memory job.textproto --worker",
       "what a worker takes, and for what"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "this machine failed, as for want of memory"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config or data is wrong"},
  };
  return text;
}

absl::Status PrintWorker(JobConfig config, bool json) {
  config.mutable_machine()->set_device("cpu");
  config.mutable_training()->set_precision(TrainingConfig::FP32);
  PS_ASSIGN_OR_RETURN(const CheckedJob job,
                      CheckTraining(config, /*worker_rank=*/0));
  std::printf(
      "%s\n",
      json ? JsonText(ToJson(job.memory)).c_str()
           : absl::StrCat("a worker takes ", Describe(job.memory)).c_str());
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(const JobConfig config,
                      LoadJob(flags.job, flags.overrides));
  if (flags.worker) return PrintWorker(config, flags.json);
  PS_ASSIGN_OR_RETURN(const std::vector<MemoryBound> bounds,
                      ServerBounds(config));
  Json servers = Json::array();
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    if (!flags.json) {
      std::printf("server %d takes %s\n", i, Describe(bounds[i]).c_str());
    }
    servers.push_back(ToJson(i, bounds[i]));
  }
  if (flags.json) std::printf("%s\n", JsonText(servers).c_str());
  return absl::OkStatus();
}

}  // namespace

int RunPlanMemoryCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  AddOverrides(&command_line, &flags.overrides, "cluster.num_workers=8");
  command_line.AddSwitch("worker", "Plan for a worker in place of servers.",
                         &flags.worker);
  command_line.AddSwitch("json",
                         "Print an array with an object for each server, or "
                         "an object for the worker, in bytes.",
                         &flags.json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  return EndCommand("plan-memory", Run(flags));
}

}  // namespace ps
