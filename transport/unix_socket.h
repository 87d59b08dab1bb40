// Unix-domain sockets in Linux's abstract namespace: no file is left behind,
// and only processes in the same network namespace, so on the same machine, can
// connect.
#ifndef TRANSPORT_UNIX_SOCKET_H_
#define TRANSPORT_UNIX_SOCKET_H_

#include <string>

namespace ps {

// A name that no other process uses.
std::string NewUnixSocketName();

// The address that gRPC uses for the socket with this name.
std::string UnixSocketAddress(const std::string& name);

// Whether a process on this machine listens on the socket. Does not wait. False
// for invalid names.
bool UnixSocketAnswers(const std::string& name);

}  // namespace ps

#endif  // TRANSPORT_UNIX_SOCKET_H_
