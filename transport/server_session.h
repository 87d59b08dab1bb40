// Implements a worker's session with one server.
#ifndef TRANSPORT_SERVER_SESSION_H_
#define TRANSPORT_SERVER_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/random.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"
#include "transport/push_window.h"
#include "transport/server_channel.h"
#include "transport/shard_map.h"
#include "transport/stage_window.h"

namespace ps {

struct ServerSessionOptions {
  std::string address;  // The address, as in cluster.servers.
  int data_connections = 1;
  // The limit on the bytes of pushes and initial weights in flight, unless the
  // server grants more. Also limits chunks for other workers.
  int64_t credit_bytes = 0;
  absl::Duration startup_timeout;
  absl::Duration lost_server_timeout;
  // The request, with the index of the server.
  RegisterRequest registration;
};

class ServerSession;

// One RPC with everything needed to repeat it: every call may be repeated.
struct Call {
  Rpc rpc = Rpc::kPush;
  // Null if the call does not concern a slice.
  const Slice* slice = nullptr;
  grpc::ByteBuffer request;
  // The urgency of a push that waits for credit; a larger one goes first.
  int urgency = 0;
  // For a chunk for another worker: its stream, numbered over all workers, and
  // its bytes at the server.
  int stage_stream = 0;
  int64_t kept_bytes = 0;
  // If positive, the call is made once, at once, and ends after this time.
  absl::Duration once;
  // The time after which the call fails with the server's error if the server
  // has been unable to answer it.
  absl::Duration patience = absl::InfiniteDuration();
  // Receives the call in place of Events::done, under the same rules.
  std::function<void(std::unique_ptr<Call>)> done;

  // The members below are set by the session.
  const ServerSession* session = nullptr;
  absl::Status status;
  grpc::ByteBuffer response;
  absl::Time start = absl::InfinitePast();  // The start of the first attempt.
  absl::Time end;
  absl::Time first_failure = absl::InfiniteFuture();
  int attempts = 0;
  int64_t number = -1;  // The number in its window.
};

// A session. Registers, again after every break of the connection, and attends,
// so that the server knows that the worker lives and tells it if the job fails.
// Repeats calls until they succeed, with growing delays. Pushes stay within a
// window, and chunks for other workers within another. A silent connection is
// sent a keepalive request; it is opened anew when there is no answer, and in
// the end the server counts as lost.
//
// Never waits, except in the destructor: calls end, and the session changes, on
// the threads of the channel, and the owner calls Step when something is due.
// Thread-safe.
class ServerSession {
 public:
  // Both are called with a lock held, from any thread, and must not call back.
  struct Events {
    // Receives a call that has succeeded (its status is OK) or cannot succeed.
    std::function<void(std::unique_ptr<Call>)> done;
    // Called when failure() or registered() changed, or Step is due earlier.
    std::function<void()> changed;
  };

  // `clock` is not owned.
  ServerSession(const ServerSessionOptions& options,
                std::unique_ptr<ServerChannel> channel, const Clock* clock,
                Events events);

  // Cancels all calls. Waits for them, but not for ever.
  ~ServerSession();

  // Takes a call. It starts when the session is registered and the window
  // allows it.
  void Send(std::unique_ptr<Call> call);

  // Does the due work: attempts to register, retries, keepalive requests,
  // time-outs. Returns the time when it should be called next.
  absl::Time Step();

  // Sets RegisterRequest.joined_after of all later attempts to register.
  void SetJoinedAfter(int64_t pushes);

  // Returns "server 1 at host:port".
  std::string Name() const;
  bool registered() const;
  // Whether the server has answered an attempt to register, and is not done.
  bool reached() const;
  // Whether the server has reported that the job is done; or that this worker
  // has finished, in an earlier process.
  bool done() const;
  bool finished() const;
  // RegisterResponse.joins_at, if the server lets the worker join.
  std::optional<int64_t> joins_at() const;
  // The error of the last attempt to register; OK before the first one ends.
  absl::Status last_error() const;

  // Not OK if the session is over, with the name of the server. kAborted: the
  // server has announced that the job failed. kDeadlineExceeded: it could not
  // be reached within startup_timeout. kUnavailable: it has not answered for
  // lost_server_timeout, was restarted and has lost its weights, or has
  // announced that all processes must be restarted. Otherwise its refusal of
  // this worker.
  absl::Status failure() const;

 private:
  struct Connection {
    absl::Time ask_at = absl::InfiniteFuture();  // The next keepalive request.
    bool asked = false;
    bool reopened = false;
    int attempts = 0;
    // The time when it was found to be silent.
    absl::Time broken_since = absl::InfiniteFuture();
  };

  // Does all work that can be done now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckTimeouts(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return closing_ || job_done_ || !failure_.ok();
  }
  void Fail(const absl::Status& failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration Delay(int attempts, absl::Duration longest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Register() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnRegistered(absl::StatusOr<grpc::ByteBuffer> result);
  void Attend() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAccepted(int64_t attendance);
  void OnClosed(int64_t attendance, const absl::Status& status);
  void RegisterAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Queues a call for StartCalls, which the holder of the lock calls after
  // releasing it: gRPC's work for it takes longer than anything done here, and
  // the threads that end calls need the lock.
  void Start(std::unique_ptr<Call> call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartCalls() ABSL_LOCKS_EXCLUDED(mu_);
  void OnAnswer(Call* running, int connection,
                absl::StatusOr<grpc::ByteBuffer> result);
  // Whether a call that ended like this must be repeated.
  bool ToBeRepeated(Call* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Deliver(std::unique_ptr<Call> call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes all calls due that wait for their next attempt.
  void RetryNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Ask(int connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Heard(int connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ServerSessionOptions options_;
  const std::unique_ptr<ServerChannel> channel_;
  const Clock* const clock_;  // Not owned.
  const Events events_;

  mutable Mutex mu_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool job_done_ ABSL_GUARDED_BY(mu_) = false;  // Reported by the server.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  RandomStream jitter_ ABSL_GUARDED_BY(mu_);

  bool registered_ ABSL_GUARDED_BY(mu_) = false;
  bool reached_ ABSL_GUARDED_BY(mu_) = false;
  bool registering_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time register_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int register_attempts_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(mu_);
  std::optional<RegisterResponse> welcome_ ABSL_GUARDED_BY(mu_);  // The latest.
  int64_t joined_after_ ABSL_GUARDED_BY(mu_) = 0;
  // The time since when the server has been absent, until the first answer.
  absl::Time starting_since_ ABSL_GUARDED_BY(mu_);
  int64_t attendance_ ABSL_GUARDED_BY(mu_) = 0;  // The number of the latest.
  // The time since when the worker does not attend.
  absl::Time absent_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();

  std::vector<Connection> connections_
      ABSL_GUARDED_BY(mu_);  // Connection 0 is not for data.
  PushWindow window_ ABSL_GUARDED_BY(mu_);
  StageWindow stage_window_ ABSL_GUARDED_BY(mu_);
  int64_t next_number_ ABSL_GUARDED_BY(mu_) = 0;
  // The queued calls by number.
  std::map<int64_t, std::unique_ptr<Call>> queued_ ABSL_GUARDED_BY(mu_);
  // The waiting calls by the time of the next attempt.
  std::multimap<absl::Time, std::unique_ptr<Call>> waiting_
      ABSL_GUARDED_BY(mu_);
  std::map<Call*, std::unique_ptr<Call>> running_ ABSL_GUARDED_BY(mu_);
  std::vector<Call*> starting_ ABSL_GUARDED_BY(mu_);  // Calls of running_.
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_SESSION_H_
