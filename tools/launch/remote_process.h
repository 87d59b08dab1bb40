// The command lines of a launched job's processes.
#ifndef TOOLS_LAUNCH_REMOTE_PROCESS_H_
#define TOOLS_LAUNCH_REMOTE_PROCESS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "tools/launch/hosts.h"
#include "tools/launch/launch_record.h"

namespace ps {

struct LaunchedJob {
  JobConfig config;  // Validated, with cluster.servers.
  LaunchRecord record;
  std::vector<LaunchHost> hosts;
  std::vector<PlacedProcess> processes;
  std::string run_directory;  // On this machine.
  std::string folder;         // RemoteRunFolder().
  // After this time without an iteration, while all processes run, the job ends
  // or, if it keeps snapshots and this is asked for, all are started again.
  // Zero: never.
  absl::Duration hang_patience = absl::Minutes(30);
  bool restart_when_it_hangs = false;
  // In place of the program `worker`, if the job's model is external: the
  // user's program and its arguments, which each host has at the same path.
  std::vector<std::string> worker_command;
  // Where it runs, if a host has this folder; else in the home folder.
  std::string worker_folder;
  // Further options of the program `worker`, for rank 0; with a command,
  // further variables, "NAME=VALUE".
  std::vector<std::string> first_worker_arguments;
  // Where the first process of each host serves metrics, and the others at the
  // ports after it; empty: none does.
  std::string metrics_listen;

  const LaunchHost& HostOf(const PlacedProcess& process) const {
    return hosts.at(process.host);
  }
  // Where records are made.
  const LaunchHost& HostOfWorker0() const;
};

// Where a process serves metrics, if job.metrics_listen is not empty.
std::string MetricsAddress(const LaunchedJob& job,
                           const PlacedProcess& process);

// The program and its arguments, on its host. What differs between hosts is
// overridden: the rest of a job is the same everywhere.
std::vector<std::string> ProcessArguments(const LaunchedJob& job,
                                          const PlacedProcess& process);

// For Spawn(): the process runs as long as standard input is open
// (kLifelineScript).
std::vector<std::string> StartArguments(const LaunchedJob& job,
                                        const PlacedProcess& process);

// The same for a command that prints worker 0's metrics.jsonl, and goes on
// while it grows.
std::vector<std::string> FollowMetricsArguments(const LaunchedJob& job);

}  // namespace ps

#endif  // TOOLS_LAUNCH_REMOTE_PROCESS_H_
