// A program of the user's in place of the program `worker`, for jobs whose
// model is external (docs/pytorch.md).
#ifndef TOOLS_PROCESS_WORKER_COMMAND_H_
#define TOOLS_PROCESS_WORKER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config.pb.h"
#include "tools/process/local_cluster.h"

namespace ps {

// What a command line says that has to fit the job.
struct WorkerCommandFlags {
  std::vector<std::string> command;  // Empty: none.
  bool resume = false;
  bool tensorboard = false;
};

// `job` is where the config comes from, for messages. Errors: kInvalidArgument
// if there is a command without an external model or an external model without
// a command, and for flags that an external model excludes.
absl::Status CheckWorkerCommand(const JobConfig& config, const std::string& job,
                                const WorkerCommandFlags& flags);

// Makes this command each worker of `options`, whose job has an external model.
// Errors: kInvalidArgument if there is no command, or no such program; those of
// FindProgram for the program `bridge`.
absl::Status SetWorkerCommand(const std::vector<std::string>& command,
                              LocalClusterOptions* options);

// Which of all workers a process is.
struct WorkerPlace {
  int rank = 0;
  int num_workers = 1;
  int local_rank = 0;  // Among those on its machine.
  int num_local_workers = 1;
  // Where the workers can meet, of rank 0's machine.
  std::string master_address = "127.0.0.1";
  int master_port = 0;
};

// RANK and the others that torchrun sets, each as "NAME=VALUE".
std::vector<std::string> RankVariables(const WorkerPlace& place);

}  // namespace ps

#endif  // TOOLS_PROCESS_WORKER_COMMAND_H_
