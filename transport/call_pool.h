// The calls of one worker that are under way. Calls are repeated until they
// succeed, and pushes are limited by the servers' windows.
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

// One RPC with everything needed to repeat it. Every call here may be repeated.
struct Call {
  ServerLink* server = nullptr;
  const char* method = nullptr;  // "/ps.ParameterServer/Push".
  // Null if the call does not concern a slice. Such a call is not repeated once
  // the server has said that the job is done.
  const Slice* slice = nullptr;
  // For a push, its number in the order of all pushes; otherwise -1.
  int64_t push = -1;
  grpc::ByteBuffer request;

  // The members below belong to the pool.
  std::unique_ptr<grpc::ClientContext> context;
  grpc::ByteBuffer response;
  absl::Status status;
  absl::Time first_start = absl::InfinitePast();
  absl::Time end;
  absl::Time retry_at;
  absl::Duration backoff;
};

struct CallPoolOptions {
  // Time limit for repeating calls for which a server is not ready yet.
  absl::Duration startup_timeout;
  absl::Duration lost_server_timeout;
  // When nothing has arrived for this long, the log says which processes the
  // worker waits for.
  absl::Duration patience;
};

// Except for Wake, only one thread may use a pool at a time; completed calls
// wait inside until that thread takes them. Poll and Drain return the errors of
// `done` and of CheckServers, and a server's refusal with the server's name.
class CallPool {
 public:
  // `servers` is not owned and must outlive the pool.
  CallPool(const ServerLinks* servers, const CallPoolOptions& options);

  // Cancels the calls under way and waits for them.
  ~CallPool();

  using Done = std::function<absl::Status(const Call&)>;

  // Starts a call at once.
  void Start(std::unique_ptr<Call> call);

  // Queues a push. StartQueued, Poll and Drain start it when the server's
  // window allows; of the waiting pushes, those with larger `urgency` go first.
  void Queue(std::unique_ptr<Call> call, int urgency);
  void StartQueued();

  // Passes each call that has succeeded so far to `done`. Does not wait.
  absl::Status Poll(const Done& done);

  // Passes each call to `done` as it succeeds, until no call is left. A call
  // whose error satisfies `again` is repeated until startup_timeout has passed.
  absl::Status Drain(
      const Done& done,
      const std::function<bool(const absl::Status&)>& again = nullptr);

  // Makes Drain check the servers again. May be called by any thread.
  void Wake();

 private:
  std::unique_ptr<Call> TakeCompleted();
  // Handles a call that has ended: passes it to `done`, or schedules a repeat.
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
