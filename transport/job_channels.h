// Connections to the servers of a job, for who only asks how they are.
#ifndef TRANSPORT_JOB_CHANNELS_H_
#define TRANSPORT_JOB_CHANNELS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "transport/server_channel.h"

namespace ps {

// One for each of cluster.servers, with the certificate of this worker
// (security.directory). The config must be valid; it is not kept. Answers may
// have 1 MiB. Errors: those of Credentials::Create.
absl::StatusOr<std::vector<std::unique_ptr<ServerChannel>>> ChannelsToServers(
    const JobConfig& config, int worker_rank);

}  // namespace ps

#endif  // TRANSPORT_JOB_CHANNELS_H_
