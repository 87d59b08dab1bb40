// How far a training is.
#ifndef TOOLS_STATUS_STATUS_H_
#define TOOLS_STATUS_STATUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/json.h"
#include "nlohmann/json.hpp"
#include "proto/config.pb.h"

namespace ps {

struct ClusterStatus {
  std::string text;  // A line for each server, and for missing workers.
  Json json;
  bool all_answered = false;
};

// Asks all servers of a job at once, with the certificate of this worker, and
// waits for at most some seconds. Errors: kInvalidArgument if the job names no
// servers or has no such worker; those of ChannelsToServers.
absl::StatusOr<ClusterStatus> AskCluster(const JobConfig& config,
                                         int worker_rank);

struct RunStatus {
  std::string text;  // Several lines.
  Json json;
};

// What a run has recorded. Errors: those of ReadRunRecords.
absl::StatusOr<RunStatus> ReadRunStatus(const std::string& directory,
                                        absl::Time now);

}  // namespace ps

#endif  // TOOLS_STATUS_STATUS_H_
