// The memory in which a server receives and sends messages.
#ifndef SERVER_MESSAGE_QUOTA_H_
#define SERVER_MESSAGE_QUOTA_H_

#include <cstdint>

#include "proto/config.pb.h"

namespace ps {

// The bytes that gRPC may use for all connections: twice the credit of all
// workers, because gRPC reads messages into buffers that are up to 1.9 times as
// large, 2 MiB (two frames) for each connection of the job, and 64 MiB for
// everything else. A connection that would need more is not read from, or its
// call is ended with RESOURCE_EXHAUSTED.
int64_t MessageQuotaBytes(const ClusterConfig& cluster,
                          int64_t credit_bytes_per_worker);

}  // namespace ps

#endif  // SERVER_MESSAGE_QUOTA_H_
