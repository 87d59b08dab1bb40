// Answers health probes: whether a process lives and is ready.
#ifndef TRANSPORT_HEALTH_SERVER_H_
#define TRANSPORT_HEALTH_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ps {

// The services that a probe may ask for, besides the empty name, which is like
// kLive.
constexpr char kLiveService[] = "live";    // The process answers.
constexpr char kReadyService[] = "ready";  // See SetReady.

// gRPC's health service (grpc.health.v1) on a port of its own, in plaintext and
// without authentication, as the probes of Kubernetes need it. It takes few
// connections and short messages, and knows nothing of the job. Thread-safe.
class HealthServer {
 public:
  virtual ~HealthServer() = default;

  // Listens at `address` ("host:port"; port 0 selects a free one). The process
  // lives and is not ready. Call it before any other gRPC server of the process
  // is built. Errors: kInvalidArgument for an invalid address; kUnavailable if
  // the process cannot listen there.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(
      const std::string& address);

  virtual int port() const = 0;

  // Sets whether kReadyService is SERVING: a server has restored its state and
  // listens, or a worker is registered with all servers.
  virtual void SetReady(bool ready) = 0;
};

}  // namespace ps

#endif  // TRANSPORT_HEALTH_SERVER_H_
