#include "monitoring/metrics_server.h"

#include <functional>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "httplib.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace ps {
namespace {

// For a request, and for its answer.
constexpr int kSeconds = 2;

// Runs each request where it was accepted, so that the next one waits in the
// kernel: a queue would hold any number of connections.
class OneAfterTheOther final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> work) override { work(); }
  void shutdown() override {}
};

class HttpMetricsServer final : public MetricsServer {
 public:
  explicit HttpMetricsServer(Sources sources) : sources_(std::move(sources)) {
    server_.new_task_queue = [] { return new OneAfterTheOther; };
    server_.set_keep_alive_max_count(1);
    server_.set_keep_alive_timeout(kSeconds);  // The first request's, too.
    server_.set_read_timeout(kSeconds);
    server_.set_write_timeout(kSeconds);
    server_.set_payload_max_length(0);
    // The default lets a second process listen on the same port.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    server_.Get("/metrics", [this](const httplib::Request&,
                                   httplib::Response& response) {
      response.set_content(Text(), "text/plain; version=0.0.4; charset=utf-8");
    });
  }

  ~HttpMetricsServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Returns false if nobody can listen there.
  bool Listen(const std::string& host, int port) {
    port_ = port == 0 ? server_.bind_to_any_port(host.c_str())
                      : (server_.bind_to_port(host.c_str(), port) ? port : -1);
    if (port_ <= 0) return false;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() does nothing before the server runs.
    while (!server_.is_running()) std::this_thread::yield();
    return true;
  }

  int port() const override { return port_; }

 private:
  std::string Text() const {
    std::vector<prometheus::MetricFamily> families;
    for (const auto& source : sources_) {
      std::vector<prometheus::MetricFamily> more = source->Collect();
      std::move(more.begin(), more.end(), std::back_inserter(families));
    }
    return prometheus::TextSerializer().Serialize(families);
  }

  const Sources sources_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, Sources sources) {
  if (!IsHostAndPort(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address for metrics is \"", address,
                     "\"; must be host:port with a port in [0, 65535]"));
  }
  const HostAndPort wanted = SplitHostAndPort(address);
  auto server = std::make_unique<HttpMetricsServer>(std::move(sources));
  if (!server->Listen(wanted.host, wanted.port)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot serve metrics on ", address,
        "; is another process using that port (ss -ltnp shows it), or is the "
        "host not this machine's?"));
  }
  return std::unique_ptr<MetricsServer>(std::move(server));
}

}  // namespace ps
