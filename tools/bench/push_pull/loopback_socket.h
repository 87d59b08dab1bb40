// TCP sockets of the loopback interface that block until all is sent or there.
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

// At a free port of 127.0.0.1. Errors of all: what the system says.
absl::StatusOr<LoopbackListener> ListenOnLoopback();

absl::StatusOr<UniqueFd> ConnectToLoopback(int port);

// The next connection. Errors also when the listener was shut down.
absl::StatusOr<UniqueFd> AcceptConnection(int listener_fd);

// Errors: kUnavailable if the other side has closed the connection.
absl::Status SendBytes(int fd, const void* bytes, size_t size);
absl::Status ReceiveBytes(int fd, void* bytes, size_t size);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_LOOPBACK_SOCKET_H_
