#include "monitoring/http_server.h"

#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "httplib.h"

namespace ps {
namespace {

// The time limit of a request, and of its answer.
constexpr int kSeconds = 2;

// A fixed number of threads without a queue, which would hold any number of
// connections: the accepting thread waits for a free one.
class FewThreads final : public httplib::TaskQueue {
 public:
  explicit FewThreads(int num_threads) : num_free_(num_threads) {
    for (int i = 0; i < num_threads; ++i) {
      threads_.emplace_back("http", [this] { Work(); });
    }
  }

  void enqueue(std::function<void()> work) override {
    MutexLock lock(&mu_);
    while (num_free_ == 0) changed_.Wait(&mu_);
    --num_free_;
    work_.push_back(std::move(work));
    changed_.SignalAll();
  }

  void shutdown() override {
    {
      MutexLock lock(&mu_);
      closing_ = true;
      changed_.SignalAll();
    }
    for (Thread& thread : threads_) thread.Join();
  }

 private:
  void Work() {
    for (;;) {
      std::function<void()> work;
      {
        MutexLock lock(&mu_);
        while (work_.empty() && !closing_) changed_.Wait(&mu_);
        if (work_.empty()) return;
        work = std::move(work_.back());
        work_.pop_back();
      }
      work();
      MutexLock lock(&mu_);
      ++num_free_;
      changed_.SignalAll();
    }
  }

  Mutex mu_;
  CondVar changed_;
  int num_free_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  std::vector<Thread> threads_;
};

class HttplibServer final : public HttpServer {
 public:
  explicit HttplibServer(const HttpServerOptions& options) {
    server_.new_task_queue = [threads = options.threads] {
      return new FewThreads(threads);
    };
    server_.set_keep_alive_max_count(1);
    // This also limits the first request.
    server_.set_keep_alive_timeout(kSeconds);
    server_.set_read_timeout(kSeconds);
    server_.set_write_timeout(kSeconds);
    server_.set_payload_max_length(0);
    // The default lets a second process listen on the same port.
    server_.set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    for (const HttpPage& page : options.pages) {
      server_.Get(page.path.c_str(), [page](const httplib::Request&,
                                            httplib::Response& response) {
        // Plots set styles of their elements.
        response.set_header("Content-Security-Policy",
                            "default-src 'self'; style-src 'self' "
                            "'unsafe-inline'; img-src 'self' data:");
        response.set_header("Cache-Control", "no-store");
        response.set_header("X-Content-Type-Options", "nosniff");
        response.set_content(page.content(), page.content_type.c_str());
      });
    }
  }

  ~HttplibServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.Join();
  }

  // Listens; returns false if that is impossible.
  bool Listen(const std::string& host, int port) {
    port_ = port == 0 ? server_.bind_to_any_port(host.c_str())
                      : (server_.bind_to_port(host.c_str(), port) ? port : -1);
    if (port_ <= 0) return false;
    thread_ = Thread("http accept", [this] { server_.listen_after_bind(); });
    // stop() does nothing before the server runs.
    while (!server_.is_running()) std::this_thread::yield();
    return true;
  }

  int port() const override { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  Thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    HttpServerOptions options) {
  const std::optional<HostAndPort> wanted =
      ParseHostAndPort(WithOwnHost(options.address));
  if (!wanted.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the address for ", options.subject, " is \"", options.address, "\"; ",
        kHostAndPortRule, ", or a port alone, for this machine"));
  }
  auto server = std::make_unique<HttplibServer>(options);
  if (!server->Listen(wanted->host, wanted->port)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot serve ", options.subject, " on ", options.address,
        "; is another process using that port (ss -ltnp shows it), or is the "
        "host not this machine's?"));
  }
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace ps
