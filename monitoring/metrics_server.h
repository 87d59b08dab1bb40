// Serves a process's metrics to Prometheus.
#ifndef MONITORING_METRICS_SERVER_H_
#define MONITORING_METRICS_SERVER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "monitoring/http_server.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace ps {

// The metrics endpoint of a process. Thread-safe.
class MetricsServer {
 public:
  using Sources = std::vector<std::shared_ptr<prometheus::Collectable>>;

  // Answers GET /metrics at `address` with the metrics of the sources, in
  // Prometheus's text format 0.0.4, one request after the other. Errors: those
  // of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, Sources sources);

  int port() const { return server_->port(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> server)
      : server_(std::move(server)) {}

  const std::unique_ptr<HttpServer> server_;
};

}  // namespace ps

#endif  // MONITORING_METRICS_SERVER_H_
