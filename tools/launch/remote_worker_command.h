// A command of the user's in place of the program `worker`, on the hosts of a
// job (LaunchedJob::worker_command). It runs in worker_folder if its host has
// this folder, and otherwise in the home folder, as with mpirun.
#ifndef TOOLS_LAUNCH_REMOTE_WORKER_COMMAND_H_
#define TOOLS_LAUNCH_REMOTE_WORKER_COMMAND_H_

#include <string>
#include <vector>

#include "tools/launch/hosts.h"
#include "tools/launch/remote_process.h"

namespace ps {

// The command with its variables (docs/pytorch.md), for a worker's host.
// MASTER_PORT is the port after those of the servers on rank 0's host.
std::vector<std::string> WorkerCommandArguments(const LaunchedJob& job,
                                                const PlacedProcess& process);

// Part of a script for sh that fails unless the host has the program of the
// command and the first of its arguments that ends with ".py". Empty without a
// command.
std::string CheckWorkerCommandScript(const LaunchedJob& job);

}  // namespace ps

#endif  // TOOLS_LAUNCH_REMOTE_WORKER_COMMAND_H_
