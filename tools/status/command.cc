#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/time/clock.h"
#include "common/config.h"
#include "common/exit_codes.h"
#include "common/flags.h"
#include "common/job_fields.h"
#include "common/program.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "tools/command_line/commands.h"
#include "tools/status/status.h"

namespace ps {
namespace {

struct Flags {
  std::string subject;
  int rank = 0;
  std::vector<std::string> overrides;
  bool json = false;
};

CommandText Text() {
  CommandText text;
  text.program = "gradsieve status";
  text.description =
      "Says how far a training is: of a run directory, what it has recorded; "
      "of a job whose cluster.servers has addresses, what the servers say. "
      "Those must be shown a certificate of the job (security.directory).";
  text.examples = {
      {"gradsieve status runs/lenet", "the run in this directory"},
      {"gradsieve status job.textproto", "the servers of a job"},
  };
  text.exit_codes = {
      {"0", "printed"},
      {"1", "failed; the message says why"},
      {"64", "the command line makes no sense"},
      {"75", "a server does not answer"},
      {"78", "there is no such run, or the job's config is wrong"},
  };
  return text;
}

absl::StatusOr<int> Run(const Flags& flags) {
  std::error_code error;
  if (std::filesystem::is_directory(flags.subject, error)) {
    PS_ASSIGN_OR_RETURN(const RunStatus run,
                        ReadRunStatus(flags.subject, absl::Now()));
    std::printf("%s", flags.json ? (JsonText(run.json) + "\n").c_str()
                                 : run.text.c_str());
    return kExitDone;
  }
  PS_ASSIGN_OR_RETURN(const JobConfig config,
                      LoadJob(flags.subject, flags.overrides));
  PS_ASSIGN_OR_RETURN(const ClusterStatus cluster,
                      AskCluster(config, flags.rank));
  std::printf("%s", flags.json ? (JsonText(cluster.json) + "\n").c_str()
                               : cluster.text.c_str());
  return cluster.all_answered ? kExitDone : kExitUnreachable;
}

}  // namespace

int RunStatusCommand(int argc, char** argv) {
  Flags flags;
  CommandLine command_line(Text());
  command_line.AddArgument("RUN_OR_JOB",
                           "A run directory, or a job, a .textproto file.",
                           &flags.subject);
  command_line.AddOption(
      "rank", "N", "Show servers the certificate of this worker.", &flags.rank);
  AddOverrides(&command_line, &flags.overrides,
               "security.directory=certificates");
  command_line.AddSwitch("json", "Print a JSON object.", &flags.json);
  if (const auto exit_code = command_line.Run(argc, argv)) return *exit_code;
  FLAGS_minloglevel = google::GLOG_WARNING;
  const absl::StatusOr<int> exit_code = Run(flags);
  if (exit_code.ok()) return *exit_code;
  return FailCommand("status", exit_code.status(),
                     ExitCodeFor(exit_code.status()));
}

}  // namespace ps
