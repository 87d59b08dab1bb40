// Serves a process's metrics to Prometheus.
#ifndef MONITORING_METRICS_SERVER_H_
#define MONITORING_METRICS_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace ps {

// Thread-safe.
class MetricsServer {
 public:
  using Sources = std::vector<std::shared_ptr<prometheus::Collectable>>;

  virtual ~MetricsServer() = default;

  // Answers GET /metrics at `address` ("host:port"; port 0 selects a free one)
  // with what the sources collect, in Prometheus's text format 0.0.4. There is
  // no authentication, and nothing else is served. Requests are answered one
  // after the other, each within 2 s, so that whoever reaches the port costs
  // the process one connection and one thread. Errors: kInvalidArgument for an
  // invalid address; kUnavailable if the process cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, Sources sources);

  virtual int port() const = 0;
};

}  // namespace ps

#endif  // MONITORING_METRICS_SERVER_H_
