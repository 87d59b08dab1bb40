// Serves the page of a job in training, from worker 0.
#ifndef WORKER_PAGE_PAGE_SERVER_H_
#define WORKER_PAGE_PAGE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "monitoring/http_server.h"
#include "proto/config.pb.h"
#include "transport/cluster_watch.h"
#include "worker/page/live_page.h"
#include "worker/records/training_observer.h"

namespace ps {

struct PageServerOptions {
  std::string address;                // See HttpServerOptions.
  const JobConfig* config = nullptr;  // Validated; not owned.
  std::string run_directory;          // Empty if there is none.
};

// The server. Asks the job's servers for their status five times a second.
// Thread-safe.
class PageServer {
 public:
  // Starts the server. Errors: those of HttpServer::Start and
  // Credentials::Create.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(
      const PageServerOptions& options);

  TrainingObserver* observer() { return &page_; }
  // Returns "http://127.0.0.1:43210/".
  std::string url() const { return url_; }

 private:
  explicit PageServer(const PageServerOptions& options);

  LivePage page_;
  std::string url_;
  std::unique_ptr<ClusterWatch> watch_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace ps

#endif  // WORKER_PAGE_PAGE_SERVER_H_
