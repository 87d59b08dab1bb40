// Parses addresses of processes in configs and on command lines.
#ifndef COMMON_HOST_AND_PORT_H_
#define COMMON_HOST_AND_PORT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace ps {

struct HostAndPort {
  std::string host;  // Without the brackets around an IPv6 address.
  int port = 0;
};

// Splits "HOST:PORT". HOST is a name of letters, digits, ".", "-" and "_", an
// IPv4 address in four decimal parts, or an IPv6 address in brackets; PORT is
// decimal and in [0, 65535]. Refuses anything else, such as other forms of a
// number, which some programs read as an address and some as a name, and an
// IPv6 address without brackets.
std::optional<HostAndPort> ParseHostAndPort(absl::string_view address);

bool IsHostAndPort(absl::string_view address);

// The rule for ParseHostAndPort, used in messages.
inline constexpr char kHostAndPortRule[] =
    "must be host:port with a port in [0, 65535], and an IPv6 address in "
    "brackets";

// Completes an address that serves this machine: "8080" becomes
// "127.0.0.1:8080", and any other address is returned as it is.
std::string WithOwnHost(const std::string& address);

// Returns the address of process `number`, from 0, of several on a machine:
// "a:7002" is the third from "a:7000" on. Port 0, which means a free one,
// stays; an invalid `first` or a port that is too high gives an invalid
// address.
std::string AddressOfNumber(const std::string& first, int number);

// Whether only processes on this machine reach `address`, host:port: its host
// is localhost, 127.x.y.z or [::1].
bool IsLoopback(absl::string_view address);

// Whether `address` is a Unix-domain socket, as in "unix:/run/user/1000/ps-0":
// an absolute path of at most 107 bytes.
bool IsUnixSocket(absl::string_view address);

// Whether a server can listen on `address`, HOST:PORT or a Unix-domain socket.
bool IsServerAddress(absl::string_view address);

// Returns "/run/user/1000" for "unix:/run/user/1000/ps-0".
absl::string_view FolderOfUnixSocket(absl::string_view address);

}  // namespace ps

#endif  // COMMON_HOST_AND_PORT_H_
