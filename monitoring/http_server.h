// Serves a few pages over HTTP.
#ifndef MONITORING_HTTP_SERVER_H_
#define MONITORING_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

struct HttpPage {
  std::string path;  // "/metrics".
  std::string content_type;
  std::function<std::string()> content;  // Called by several threads.
};

struct HttpServerOptions {
  std::string subject;  // For messages: "metrics".
  // "host:port", or "port" for this machine alone; port 0 selects a free one.
  std::string address;
  std::vector<HttpPage> pages;
  // The number of requests that are answered at the same time, each within 2 s;
  // further connections wait in the kernel. So a client can occupy this number
  // of connections and threads, and no more.
  int threads = 1;
};

// An HTTP server. Thread-safe.
class HttpServer {
 public:
  virtual ~HttpServer() = default;

  // Answers GET of each page; there is no authentication, and nothing else is
  // served. Pages may not load anything from elsewhere, and run no script that
  // is not a page of its own. Errors: kInvalidArgument for an invalid address;
  // kUnavailable if the process cannot listen there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpServerOptions options);

  virtual int port() const = 0;
};

}  // namespace ps

#endif  // MONITORING_HTTP_SERVER_H_
