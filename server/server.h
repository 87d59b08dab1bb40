// Runs one parameter server: listens, serves one job and ends with it.
#ifndef SERVER_SERVER_H_
#define SERVER_SERVER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace ps {

struct ServerOptions {
  JobConfig config;  // Validated.
  int index = 0;
  // The address, as in cluster.servers; port 0 selects a free one. The folder
  // of a Unix-domain socket must be closed to other users.
  std::string listen;
  // Set to true to make all workers save a snapshot after their next push, and
  // end, if the job's processes stop together (common/consistency.h). Not
  // owned; null if only workers ask for that.
  std::atomic<bool>* asked_to_stop = nullptr;
  // Called once, when the server has its initial weights, on some thread. May
  // be null.
  std::function<void()> has_weights;
};

// A parameter server. Thread-safe.
class Server {
 public:
  virtual ~Server() = default;

  // Starts a server. Errors: kInvalidArgument for an index outside the job or
  // an invalid address, or if it needs the address of server 0 and the config
  // has none; those of Credentials::Create and ProcessSnapshots::Open;
  // kUnavailable, naming the address, if the server cannot listen there.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options);

  // Checks whether Start would succeed now, apart from its snapshots, which are
  // not touched. Errors: those of Start.
  static absl::Status Check(const ServerOptions& options);

  // Returns where the server listens, with the port that was selected.
  virtual std::string address() const = 0;

  // Blocks until the job is over and every worker has been told; if it was done
  // before this process, until Stop. Returns OK if all workers have finished;
  // kUnavailable if the job has stopped and can be continued; otherwise the
  // reason why it failed.
  virtual absl::Status Wait() = 0;

  // Returns the metrics for Prometheus, which the server must outlive.
  virtual std::vector<std::shared_ptr<prometheus::Collectable>> metrics()
      const = 0;

  // Ends the job with this failure; Wait then returns it.
  virtual void Stop(const absl::Status& failure) = 0;
};

}  // namespace ps

#endif  // SERVER_SERVER_H_
