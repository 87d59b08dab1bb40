// Sockets that listen at an address.
#ifndef TRANSPORT_LISTENING_SOCKETS_H_
#define TRANSPORT_LISTENING_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

// On all addresses of the host, on the same port; port 0 selects a free one.
// Or on a Unix-domain socket ("unix:PATH"), which replaces one where nobody
// listens. At least one socket, not blocking. Errors: kUnavailable with the
// system's reason.
absl::StatusOr<std::vector<UniqueFd>> ListenAt(const std::string& address);

// The port of an IP address.
int PortOf(const sockaddr_storage& address);
// The port at which a socket of the Internet protocol listens.
int PortOf(int fd);

}  // namespace ps

#endif  // TRANSPORT_LISTENING_SOCKETS_H_
