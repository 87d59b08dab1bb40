// What the servers of a job say while a worker waits for them.
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

// Whether the job can go on. Errors: kAborted with the failure that a server
// has announced; kUnavailable for one that nobody has reached for
// lost_server_timeout.
absl::Status CheckServers(const ServerLinks& servers,
                          absl::Duration lost_server_timeout);

// Asks every server, for two seconds each, which workers it waits for: "worker
// 1, 3 (not there); server 1 at host:port (what is wrong with it)". Empty: for
// nobody.
std::string DescribeWhoIsAwaited(const ServerLinks& servers);

}  // namespace ps

#endif  // TRANSPORT_SERVER_WATCH_H_
