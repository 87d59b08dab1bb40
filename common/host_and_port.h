// Addresses of processes in configs and on command lines.
#ifndef COMMON_HOST_AND_PORT_H_
#define COMMON_HOST_AND_PORT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Whether `address` is host:port with a port in [0, 65535].
bool IsHostAndPort(absl::string_view address);

struct HostAndPort {
  std::string host;  // Without the brackets around an IPv6 address.
  int port = 0;
};

// The parts of an address for which IsHostAndPort is true.
HostAndPort SplitHostAndPort(absl::string_view address);

// Whether only processes on this machine reach `address`, host:port: its host
// is localhost, 127.x.y.z or [::1].
bool IsLoopback(absl::string_view address);

// Whether `address` is a Unix-domain socket, as in "unix:/run/user/1000/ps-0":
// an absolute path of at most 107 bytes.
bool IsUnixSocket(absl::string_view address);

// Whether a server can listen on `address`: one of the two above.
bool IsServerAddress(absl::string_view address);

// "/run/user/1000" of "unix:/run/user/1000/ps-0".
absl::string_view FolderOfUnixSocket(absl::string_view address);

}  // namespace ps

#endif  // COMMON_HOST_AND_PORT_H_
