// The calls of one worker that are under way: made again until they succeed,
// and pushes no more at a time than the servers' windows let through.
#ifndef TRANSPORT_CALL_POOL_H_
#define TRANSPORT_CALL_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "transport/server_watch.h"
#include "transport/shard_map.h"

namespace ps {

// One RPC, and what is needed to make it again: every call here may be
// repeated.
struct Call {
  ServerLink* server = nullptr;
  const char* method = nullptr;  // "/ps.ParameterServer/Push".
  // Null where it is about no slice: such a call is not made again once the
  // server has said that the job is over.
  const Slice* slice = nullptr;
  int64_t push = -1;  // A push's number, in the order of all; else -1.
  grpc::ByteBuffer request;

  // The rest is the pool's.
  std::unique_ptr<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  absl::Status status;
  absl::Time first_start = absl::InfinitePast();
  absl::Time end;
  absl::Time retry_at;
  absl::Duration backoff;
};

struct CallPoolOptions {
  // Calls that a server is not ready for are made again for so long.
  absl::Duration startup_timeout;
  absl::Duration lost_server_timeout;
  // When nothing has arrived for so long, the log says whom it waits for.
  absl::Duration patience;
};

// One thread at a time uses a pool, but for Wake; what gRPC's own threads
// deliver waits inside. Errors of Poll and Drain: of `done`; of CheckServers;
// what a server refused, with its name.
class CallPool {
 public:
  // `servers` is not owned, and outlives the pool.
  CallPool(const ServerLinks* servers, const CallPoolOptions& options);

  // Cancels what is under way, and waits for it.
  ~CallPool();

  using Done = std::function<absl::Status(const Call&)>;

  // At once.
  void Start(std::unique_ptr<Call> call);

  // A push: when StartQueued, Poll or Drain finds that the server's window lets
  // it through; of what waits, larger `urgency` first.
  void Queue(std::unique_ptr<Call> call, int urgency);
  void StartQueued();

  // `done` gets each call that has succeeded so far. Does not wait.
  absl::Status Poll(const Done& done);

  // `done` gets each call, as they succeed, until there is none. Those for
  // which `again` holds are made again until startup_timeout has passed.
  absl::Status Drain(
      const Done& done,
      const std::function<bool(const absl::Status&)>& again = nullptr);

  // Lets Drain look at the servers again. Any thread.
  void Wake();

 private:
  std::unique_ptr<Call> TakeCompleted();
  // One that has ended: `done` gets it, or it is made again later.
  absl::Status Complete(std::unique_ptr<Call> call, const Done& done,
                        bool again);
  void RestartDueCalls();
  absl::Status CheckServers() const {
    return ps::CheckServers(*servers_, options_.lost_server_timeout);
  }

  const ServerLinks* const servers_;  // Not owned.
  const CallPoolOptions options_;
  std::map<int64_t, std::unique_ptr<Call>> queued_;  // By number.
  std::vector<std::unique_ptr<Call>> waiting_;       // For their retry_at.

  Mutex mu_;
  CondVar changed_;
  std::map<Call*, std::unique_ptr<Call>> running_ ABSL_GUARDED_BY(mu_);
  std::deque<std::unique_ptr<Call>> completed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // TRANSPORT_CALL_POOL_H_
