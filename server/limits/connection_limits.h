// Computes the number of connections that a server accepts.
#ifndef SERVER_LIMITS_CONNECTION_LIMITS_H_
#define SERVER_LIMITS_CONNECTION_LIMITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace ps {

struct ConnectionLimits {
  int total = 0;
  int per_host = 0;
};

// Returns the connections that a server accepts if it may open enough files.
int64_t MaxConnections(const ClusterConfig& cluster);

// Returns limits that suffice for all processes of the job to connect, on one
// host or many, and once more before the server has noticed that their first
// connections are gone; and no more than this process may have open files.
// Errors: kFailedPrecondition if it may not have one for each connection of the
// job.
absl::StatusOr<ConnectionLimits> ConnectionLimitsFor(
    const ClusterConfig& cluster);

}  // namespace ps

#endif  // SERVER_LIMITS_CONNECTION_LIMITS_H_
