// Accepts a server's connections and hands them to gRPC.
//
// gRPC's own acceptor takes any number, begins a handshake with every peer, and
// never accepts again after a connection for which the process had no
// descriptor left.
#ifndef TRANSPORT_CONNECTIONS_ACCEPTOR_H_
#define TRANSPORT_CONNECTIONS_ACCEPTOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace ps {

struct AcceptorOptions {
  // The address, as in cluster.servers; port 0 selects a free one.
  std::string address;
  // The most connections that may be open at the same time, and those of them
  // from one host. For one more, the oldest unauthenticated one (see Know) is
  // closed, if it had time to authenticate; otherwise the new one.
  int max_connections = 0;
  int max_connections_per_host = 0;
  absl::Duration strangers_time = absl::Milliseconds(200);
  // Whether a TCP connection waits here until its first bytes have come, and is
  // closed if they do not begin a TLS handshake, or not within handshake_time.
  // A host may begin max_connections_per_host handshakes in that time; for more
  // it waits, for as long: each one costs some milliseconds of processor time.
  bool tls_only = false;
  absl::Duration handshake_time = absl::Seconds(10);
};

// The acceptor. Thread-safe.
class Acceptor {
 public:
  // Receives a connected, non-blocking socket and owns it.
  using Take = std::function<void(int fd)>;

  virtual ~Acceptor() = default;

  // Listens; connections wait until Run. Replaces a Unix-domain socket where
  // nobody listens. Errors: kUnavailable with the system's reason.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const AcceptorOptions& options);

  // The port; 0 for a Unix-domain socket.
  virtual int port() const = 0;

  // Calls `take` with each connection, on a thread of its own, until Stop. Call
  // it once.
  virtual void Run(Take take) = 0;

  // Marks the connection from this address (as gRPC names a peer,
  // "ipv4:10.0.0.7:4711") as authenticated. Unknown addresses are ignored.
  virtual void Know(absl::string_view peer) = 0;

  // Closes the connection from this address, if there is one.
  virtual void Drop(absl::string_view peer) = 0;

  // Stops listening and waits for a running call of `take`.
  virtual void Stop() = 0;
};

}  // namespace ps

#endif  // TRANSPORT_CONNECTIONS_ACCEPTOR_H_
