// Checks on the servers of a job while a worker waits for them.
#ifndef TRANSPORT_SERVER_WATCH_H_
#define TRANSPORT_SERVER_WATCH_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "transport/server_link.h"

namespace ps {

using ServerLinks = std::vector<std::unique_ptr<ServerLink>>;

// Returns OK if the job can go on. Errors: the failure that a server has
// announced (kAborted) or its refusal of this worker; kUnavailable for a server
// that could not be reached for lost_server_timeout.
absl::Status CheckServers(const ServerLinks& servers,
                          absl::Duration lost_server_timeout);

// Asks every server, for at most two seconds each, which workers it waits for:
// "worker 1, 3 (not connected); server 1 at host:port (its error)". Empty if
// the servers wait for nobody.
std::string DescribeWhoIsAwaited(const ServerLinks& servers);

}  // namespace ps

#endif  // TRANSPORT_SERVER_WATCH_H_
