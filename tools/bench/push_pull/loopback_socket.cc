#include "tools/bench/push_pull/loopback_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace ps {
namespace {

// Connections that may wait to be accepted.
constexpr int kBacklog = 1024;

sockaddr_in LoopbackAddress(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

absl::Status SystemError(const char* what) {
  const int error = errno;
  if (error == EPIPE || error == ECONNRESET) {
    return absl::UnavailableError("the other side has closed the connection");
  }
  return absl::ErrnoToStatus(error, what);
}

absl::StatusOr<UniqueFd> NewSocket() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return SystemError("cannot make a TCP socket");
  return fd;
}

// Does not set the sizes of the buffers: the kernel lets those of a fast
// connection grow to megabytes, and a fixed size would prevent that.
absl::Status SendAtOnce(int fd) {
  const int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
    return SystemError("cannot set TCP_NODELAY");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoopbackListener> ListenOnLoopback() {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd.status();
  sockaddr_in address = LoopbackAddress(/*port=*/0);
  socklen_t size = sizeof(address);
  if (bind(fd->get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd->get(), kBacklog) != 0 ||
      getsockname(fd->get(), reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    return SystemError("cannot listen on 127.0.0.1");
  }
  LoopbackListener listener;
  listener.fd = *std::move(fd);
  listener.port = ntohs(address.sin_port);
  return listener;
}

absl::StatusOr<UniqueFd> ConnectToLoopback(int port) {
  absl::StatusOr<UniqueFd> fd = NewSocket();
  if (!fd.ok()) return fd.status();
  const sockaddr_in address = LoopbackAddress(port);
  if (connect(fd->get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    return SystemError("cannot connect to 127.0.0.1");
  }
  const absl::Status set = SendAtOnce(fd->get());
  if (!set.ok()) return set;
  return fd;
}

absl::StatusOr<UniqueFd> AcceptConnection(int listener_fd) {
  for (;;) {
    UniqueFd fd(accept4(listener_fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (fd.get() < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd.get() < 0) return SystemError("cannot accept a connection");
    const absl::Status set = SendAtOnce(fd.get());
    if (!set.ok()) return set;
    return fd;
  }
}

absl::Status SendBytes(int fd, const void* bytes, size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = send(fd, next, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("cannot send");
    next += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status ReceiveBytes(int fd, void* bytes, size_t size) {
  char* next = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = recv(fd, next, size, MSG_WAITALL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError("cannot receive");
    if (count == 0) {
      return absl::UnavailableError("the other side has closed the connection");
    }
    next += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace ps
