// The servers and workers of one job as child processes on this machine.
#ifndef TOOLS_PROCESS_LOCAL_CLUSTER_H_
#define TOOLS_PROCESS_LOCAL_CLUSTER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/process/signals.h"
#include "tools/process/spawn.h"
#include "tools/process/supervisor.h"

namespace ps {

// Where a process runs.
struct ClusterHost {
  // A server listens here, and workers reach it here.
  std::string address = "127.0.0.1";
  // See Spawn().
  int network_namespace = kOwnNetwork;
};

struct LocalClusterOptions {
  JobConfig config;           // Validated; cluster.servers is filled in here.
  std::string run_directory;  // Exists, and is used by this run only.
  // The processes' checkpoint.directory, if the config has none; empty: they
  // keep no snapshots.
  std::string checkpoint_directory;
  // Goes on from the latest snapshot; logs are continued.
  bool resume = false;
  // In place of our worker, if the job's model is external: the user's program
  // and its arguments, the same for each worker. PATH is searched.
  // docs/pytorch.md has the variables that it gets.
  std::vector<std::string> worker_command;
  std::string bridge_program;  // For worker_command.
  // One for each server and each worker; empty: all on this machine.
  std::vector<ClusterHost> server_hosts;
  std::vector<ClusterHost> worker_hosts;
  // Further options of the program `worker`, for rank 0; with a worker_command,
  // further variables, "NAME=VALUE".
  std::vector<std::string> first_worker_arguments;
  // Where server 0 serves metrics; the other servers and then the workers do so
  // at the ports after it (AddressOfNumber). Empty: none does.
  std::string metrics_listen;
  // What a worker takes, "about 60 MiB of memory: ...", for messages about
  // workers that were killed. Empty: not known.
  std::string worker_memory;
  // Also shows the lines of the logs; otherwise they are written to
  // run_directory/logs only.
  bool show_log = true;
  // A line of progress, from which the run's end should be foreseeable.
  bool show_progress = true;
  // Called whenever metrics.jsonl has grown, with all servers and then all
  // workers. If it returns true, the run ends successfully.
  std::function<bool(const std::vector<JobProcess>& processes)> is_enough;
  Interrupts* interrupts = nullptr;  // Not owned.
};

struct JobPrograms {
  std::string server;
  std::string worker;
};

// Finds the programs; `worker` only if workers do not run a program of the
// user's. Errors: those of FindProgram.
absl::StatusOr<JobPrograms> FindJobPrograms(bool with_worker = true);

// Finds out, before the run directory exists, whether the programs are there,
// and whether the servers' sockets can be made. Errors: those of
// FindJobPrograms and TemporaryDirectory; kInvalidArgument if the path of a
// socket is too long.
absl::Status CheckLocalCluster(const LocalClusterOptions& options);

// Starts the servers on free ports, then the workers; relays their log lines
// with a prefix to stdout and into run_directory/logs; shows progress on
// stdout. Returns when all have ended. The job's resolved config is
// run_directory/job.textproto. With Ctrl-C, SIGTERM or SIGHUP, processes that
// keep snapshots save one before they end. Errors, after everything else has
// been stopped, name the child that failed first
// (tools/process/failed_processes.h), unless the job continues without it
// (consistency.min_workers): kFailedPrecondition if the job's config or its
// data is wrong; kUnavailable if the child was killed or has lost others, so
// that starting all again may help; kAborted otherwise. kCancelled after
// Ctrl-C, SIGTERM or SIGHUP; those of the system when a process cannot be
// started.
absl::Status RunLocalCluster(const LocalClusterOptions& options);

}  // namespace ps

#endif  // TOOLS_PROCESS_LOCAL_CLUSTER_H_
