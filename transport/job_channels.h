// Connects to the servers of a job, for programs that only ask for its status.
#ifndef TRANSPORT_JOB_CHANNELS_H_
#define TRANSPORT_JOB_CHANNELS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "transport/server_channel.h"

namespace ps {

// Returns a channel for each of cluster.servers, with the certificate of this
// worker (security.directory). The config must be valid; it is not kept.
// Answers may have 1 MiB. Errors: those of Credentials::Create.
absl::StatusOr<std::vector<std::unique_ptr<ServerChannel>>> ChannelsToServers(
    const JobConfig& config, int worker_rank);

}  // namespace ps

#endif  // TRANSPORT_JOB_CHANNELS_H_
