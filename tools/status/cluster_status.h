// How the servers of a job say that it stands.
#ifndef TOOLS_STATUS_CLUSTER_STATUS_H_
#define TOOLS_STATUS_CLUSTER_STATUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/json.h"
#include "nlohmann/json.hpp"
#include "proto/config.pb.h"

namespace ps {

struct ClusterStatus {
  std::string
      text;  // A line for each server, and for workers that are missing.
  Json json;
  bool all_answered = false;
};

// Asks all servers at once, with the certificate of this worker, and waits for
// at most some seconds. Errors: kInvalidArgument if the job names no servers or
// has no such worker; those of ChannelsToServers.
absl::StatusOr<ClusterStatus> AskCluster(const JobConfig& config,
                                         int worker_rank);

}  // namespace ps

#endif  // TOOLS_STATUS_CLUSTER_STATUS_H_
