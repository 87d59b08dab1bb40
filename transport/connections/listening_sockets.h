// Creates sockets that listen at an address.
#ifndef TRANSPORT_CONNECTIONS_LISTENING_SOCKETS_H_
#define TRANSPORT_CONNECTIONS_LISTENING_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// Listens on all addresses of the host, on the same port, where port 0 selects
// a free one; or on a Unix-domain socket ("unix:PATH"), which replaces one
// where nobody listens. Returns at least one socket, not blocking. Errors:
// kUnavailable with the system's reason.
absl::StatusOr<std::vector<UniqueFd>> ListenAt(const std::string& address);

// Returns the port of an IP address.
int PortOf(const sockaddr_storage& address);
// Returns the port at which an IP socket listens.
int PortOf(int fd);

}  // namespace ps

#endif  // TRANSPORT_CONNECTIONS_LISTENING_SOCKETS_H_
