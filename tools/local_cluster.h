// The servers and workers of one job as child processes on this machine.
#ifndef TOOLS_LOCAL_CLUSTER_H_
#define TOOLS_LOCAL_CLUSTER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace ps {

struct LocalClusterOptions {
  JobConfig config;           // Validated; cluster.servers is filled in here.
  std::string run_directory;  // Exists, and is this run's alone.
  std::string server_program;
  std::string worker_program;
};

// Starts the servers on free ports, then the workers; relays their log lines
// with a prefix to stderr and into run_directory/logs; shows progress on
// stdout. Returns when all have ended. The job's resolved config is
// run_directory/job.textproto.
// Errors, after everything else has been stopped: kAborted naming the child
// that ended first with an error; kCancelled after Ctrl-C or SIGTERM; what the
// system reports when a process cannot be started.
absl::Status RunLocalCluster(const LocalClusterOptions& options);

}  // namespace ps

#endif  // TOOLS_LOCAL_CLUSTER_H_
