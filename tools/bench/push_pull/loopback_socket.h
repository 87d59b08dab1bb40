// TCP sockets on the loopback interface. Calls block until all bytes have been
// sent or received.
#ifndef TOOLS_BENCH_PUSH_PULL_LOOPBACK_SOCKET_H_
#define TOOLS_BENCH_PUSH_PULL_LOOPBACK_SOCKET_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace ps {

struct LoopbackListener {
  UniqueFd fd;
  int port = 0;
};

// Listens at a free port of 127.0.0.1. Errors of all functions: those of the
// system.
absl::StatusOr<LoopbackListener> ListenOnLoopback();

absl::StatusOr<UniqueFd> ConnectToLoopback(int port);

// The next connection. Also an error when the listener has been shut down.
absl::StatusOr<UniqueFd> AcceptConnection(int listener_fd);

// Errors: kUnavailable if the other side has closed the connection.
absl::Status SendBytes(int fd, const void* bytes, size_t size);
absl::Status ReceiveBytes(int fd, void* bytes, size_t size);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_LOOPBACK_SOCKET_H_
