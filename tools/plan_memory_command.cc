#include "tools/plan_memory_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "server/limits/memory_bound.h"
#include "tools/command_failure.h"
#include "worker/bucket_plan.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

struct Flags {
  std::string job;
  std::vector<std::string> overrides;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve plan-memory";
  text.description =
      "Prints how much memory each server of a job takes at most, whatever "
      "workers and strangers send. Reads the job's data, on which the size of "
      "the model depends. What is read back after a restart comes on top: the "
      "log since the last snapshot and, for each worker that was started "
      "again, a copy of the weights.";
  text.examples = {
      {"gradsieve plan-memory job.textproto --set cluster.num_workers=16",
       "the same job with more workers"},
  };
  text.exit_codes = {
      {"0", "done"},
      {"1", "the data cannot be read"},
      {"64", "the command line makes no sense"},
      {"78", "the job's config is wrong"},
  };
  return text;
}

absl::Status Run(const Flags& flags) {
  PS_ASSIGN_OR_RETURN(JobConfig config, LoadJob(flags.job, flags.overrides));
  config.mutable_machine()->set_device("cpu");
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(config, /*worker_rank=*/0));
  const int64_t statistics = parts.model->statistics_values().size();
  PS_ASSIGN_OR_RETURN(
      const ShardMap map,
      PlanShards(config.cluster(),
                 PlanBuckets(parts.model->parameters(),
                             config.training().bucket_megabytes() * (1 << 20)),
                 statistics));
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    const ServerPart part = PartOf(map, statistics > 0 ? 1 : 0, i);
    PS_ASSIGN_OR_RETURN(const MemoryBound bound, MemoryBoundOf(config, part));
    std::printf("server %d takes %s\n", i, Describe(bound).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int RunPlanMemoryCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("JOB", "The job, a .textproto file.", &flags.job);
  command_line.AddOption("set", "FIELD=VALUE",
                         "Override a field of the job, as in "
                         "cluster.num_workers=8.",
                         &flags.overrides);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  const absl::Status status = Run(flags);
  if (status.ok()) return kExitDone;
  return FailCommand("plan-memory", status, ExitCodeFor(status));
}

}  // namespace ps
