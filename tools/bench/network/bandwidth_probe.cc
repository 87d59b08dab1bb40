#include "tools/bench/network/bandwidth_probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace ps {
namespace {

constexpr double kSeconds = 0.5;
constexpr int kTimeoutSeconds = 10;
constexpr size_t kPieceBytes = size_t{64} << 10;

absl::Status Failed(const char* what) {
  if (errno == EAGAIN) {
    return absl::DeadlineExceededError(
        absl::StrCat("nothing went over the network for ", kTimeoutSeconds,
                     " seconds: cannot ", what));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what));
}

absl::StatusOr<UniqueFd> MakeSocket(const NetworkNamespace& host) {
  UniqueFd made;
  PS_RETURN_IF_ERROR(host.Run([&made] {
    made = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return made.get() < 0 ? Failed("make a socket") : absl::OkStatus();
  }));
  timeval timeout = {};
  timeout.tv_sec = kTimeoutSeconds;
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(made.get(), SOL_SOCKET, option, &timeout, sizeof(timeout));
  }
  return made;
}

// The two ends of one connection.
struct Connection {
  UniqueFd from;
  UniqueFd to;
};

absl::StatusOr<Connection> Connect(const SlowNetwork& network, int from_host,
                                   int to_host) {
  Connection connection;
  PS_ASSIGN_OR_RETURN(const UniqueFd listener,
                      MakeSocket(network.host(to_host)));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, SlowNetwork::Address(to_host).c_str(), &address.sin_addr);
  sockaddr* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (bind(listener.get(), generic, size) != 0 ||
      listen(listener.get(), /*backlog=*/1) != 0 ||
      getsockname(listener.get(), generic, &size) != 0) {
    return Failed("listen in a network namespace");
  }
  PS_ASSIGN_OR_RETURN(connection.from, MakeSocket(network.host(from_host)));
  if (connect(connection.from.get(), generic, size) != 0) {
    return Failed("connect two network namespaces");
  }
  connection.to =
      UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (connection.to.get() < 0) return Failed("accept a connection");
  timeval timeout = {};
  timeout.tv_sec = kTimeoutSeconds;
  setsockopt(connection.to.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout,
             sizeof(timeout));
  return connection;
}

absl::Status Send(int fd, int64_t bytes) {
  const std::vector<char> piece(kPieceBytes);
  while (bytes > 0) {
    const ssize_t sent =
        send(fd, piece.data(),
             static_cast<size_t>(std::min<int64_t>(bytes, kPieceBytes)),
             MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Failed("send through the network");
    bytes -= sent;
  }
  return absl::OkStatus();
}

absl::Status Receive(int fd, int64_t bytes) {
  std::vector<char> piece(kPieceBytes);
  while (bytes > 0) {
    const ssize_t count =
        recv(fd, piece.data(),
             static_cast<size_t>(std::min<int64_t>(bytes, kPieceBytes)), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed("receive from the network");
    if (count == 0) return absl::UnavailableError("the connection broke");
    bytes -= count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> MeasureBandwidth(const SlowNetwork& network,
                                        int from_host, int to_host) {
  PS_ASSIGN_OR_RETURN(const Connection connection,
                      Connect(network, from_host, to_host));
  // Twice the bursts of both filters.
  const int64_t unmeasured = 4 * network.burst_bytes();
  const int64_t measured = std::max<int64_t>(
      kPieceBytes, static_cast<int64_t>(
                       kSeconds / 8 *
                       static_cast<double>(network.options().bits_per_second)));
  absl::Status sent;
  std::thread sender(
      [&] { sent = Send(connection.from.get(), unmeasured + measured); });
  absl::Status received = Receive(connection.to.get(), unmeasured);
  const absl::Time start = SteadyClock()->Now();
  if (received.ok()) received = Receive(connection.to.get(), measured);
  const double seconds = absl::ToDoubleSeconds(SteadyClock()->Now() - start);
  // Unblocks the sender if receiving has failed.
  shutdown(connection.to.get(), SHUT_RDWR);
  sender.join();
  PS_RETURN_IF_ERROR(received);
  PS_RETURN_IF_ERROR(sent);
  return 8 * static_cast<double>(measured) / seconds;
}

}  // namespace ps
