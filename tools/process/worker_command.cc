#include "tools/process/worker_command.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/external_model.h"
#include "common/status_macros.h"
#include "tools/process/find_program.h"

namespace ps {
namespace {

// Whether this can be run: by its path, or as a name on PATH.
bool IsProgram(const std::string& name) {
  if (absl::StrContains(name, "/")) return access(name.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  for (const absl::string_view folder :
       absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    if (access(absl::StrCat(folder, "/", name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckWorkerCommand(const JobConfig& config, const std::string& job,
                                const WorkerCommandFlags& flags) {
  if (!HasExternalModel(config)) {
    if (flags.command.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a command, as in ", flags.command[0],
        ", is for a job with model.name \"external\", and that of ", job,
        " is \"", config.model().name(), "\""));
  }
  if (flags.resume) {
    return absl::InvalidArgumentError(
        "--resume needs snapshots, and a job whose model is in a program of "
        "yours has none: start it again without --resume; the program goes on "
        "from what it has saved itself");
  }
  if (flags.tensorboard) {
    return absl::InvalidArgumentError(
        "--tensorboard shows what the program `worker` records, and this job's "
        "worker is a program of yours, which can write event files itself");
  }
  return absl::OkStatus();
}

absl::Status SetWorkerCommand(const std::vector<std::string>& command,
                              LocalClusterOptions* options) {
  if (command.empty()) {
    return absl::InvalidArgumentError(
        "this job's model is in a program of yours (model.name is "
        "\"external\"): name it at the end, as in -- python3 train.py");
  }
  if (!IsProgram(command[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no program ", command[0]));
  }
  options->worker_command = command;
  PS_ASSIGN_OR_RETURN(options->bridge_program, FindProgram("bridge"));
  return absl::OkStatus();
}

std::vector<std::string> RankVariables(const WorkerPlace& place) {
  return {absl::StrCat("RANK=", place.rank),
          absl::StrCat("LOCAL_RANK=", place.local_rank),
          absl::StrCat("WORLD_SIZE=", place.num_workers),
          absl::StrCat("LOCAL_WORLD_SIZE=", place.num_local_workers),
          "MASTER_ADDR=" + place.master_address,
          absl::StrCat("MASTER_PORT=", place.master_port)};
}

}  // namespace ps
