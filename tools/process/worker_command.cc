#include "tools/process/worker_command.h"

#include "absl/strings/str_cat.h"
#include "common/external_model.h"

namespace ps {

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

std::vector<std::string> RankVariables(const WorkerPlace& place) {
  return {absl::StrCat("RANK=", place.rank),
          absl::StrCat("LOCAL_RANK=", place.local_rank),
          absl::StrCat("WORLD_SIZE=", place.num_workers),
          absl::StrCat("LOCAL_WORLD_SIZE=", place.num_local_workers),
          "MASTER_ADDR=" + place.master_address,
          absl::StrCat("MASTER_PORT=", place.master_port)};
}

}  // namespace ps
