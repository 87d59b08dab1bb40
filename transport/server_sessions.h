// Manages a worker's sessions with all servers.
#ifndef TRANSPORT_SERVER_SESSIONS_H_
#define TRANSPORT_SERVER_SESSIONS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "google/protobuf/repeated_field.h"
#include "proto/parameter_server.pb.h"
#include "transport/interruption.h"
#include "transport/server_channel.h"
#include "transport/server_session.h"

namespace ps {

// The sessions. Calls that have ended wait inside until the thread that uses
// this object takes them; only one thread may use it at a time, except for
// SendApart and Check.
//
// Errors of all methods: the failure of a session, the error of a call, with
// the server's name, and that of `done`.
class ServerSessions {
 public:
  // Handles a call that has succeeded; may be null.
  using Done = std::function<absl::Status(const Call&)>;

  // `clock` is not owned. When nothing has arrived for `patience`, the log says
  // which processes this one waits for. `interruption` ends waits with its
  // error; not owned, null: nothing does.
  ServerSessions(const Clock* clock, absl::Duration patience,
                 Interruption* interruption = nullptr);
  ~ServerSessions();

  // Adds the next server's session; call it before Register.
  void Add(const ServerSessionOptions& options,
           std::unique_ptr<ServerChannel> channel);
  int size() const { return static_cast<int>(sessions_.size()); }

  // Waits until all servers have admitted the worker. Errors: if one of them
  // reports that the worker has finished, all are told, and this is also
  // kCancelled when the job is done, or kUnavailable when it has stopped.
  absl::Status Register(const FinishRequest& finish);

  // Tells each server, whenever this process registers with it, after how many
  // pushes the process has joined the job.
  void SetJoinedAfter(int64_t pushes);

  // Returns the joins_at of each server that lets the worker join.
  std::vector<int64_t> joins_at() const;

  // Whether, when Register has returned, a server has answered that is not
  // done.
  bool reached_any() const;
  // Whether a server has then answered that has not admitted this worker.
  bool waits_for_any() const;

  void Send(int server, std::unique_ptr<Call> call);
  // Sends a call with a `done` of its own, for which Await does not wait.
  void SendApart(int server, std::unique_ptr<Call> call) {
    sessions_[server]->Send(std::move(call));
  }

  // Returns the reason why the job cannot continue; OK if it can.
  absl::Status Check() const;
  // Sets a function that is called when the result of Check may have changed,
  // with locks held: it must not call back. Call it before Add.
  void Watch(std::function<void()> changed) { watch_ = std::move(changed); }

  // Handles the calls that have ended so far.
  absl::Status Poll(const Done& done);
  // Handles calls as they end, until none is left.
  absl::Status Await(const Done& done = nullptr);

  // Tells every server once, and all at the same time; or only those that have
  // admitted the worker. A failure is not told to servers that are lost, or
  // have announced one. Ignores other calls that end meanwhile.
  absl::Status TellAll(const FinishRequest& request,
                       bool only_registered = false);

 private:
  // Takes a call that has ended; null if there is none.
  std::unique_ptr<Call> TakeEnded();
  // Like TakeEnded, but waits until then for a call, or a change of a session.
  std::unique_ptr<Call> AwaitEnded(absl::Time deadline);
  absl::Status AwaitUntil(const std::function<bool()>& over,
                          const Done& done = nullptr);
  absl::Status Handle(const Call& call, const Done& done);
  // Asks all servers, and logs whom this process waits for when the last one
  // has answered.
  void AskWhoIsAwaited();
  void HearWhoIsAwaited(const Call& call);
  // Calls the sessions' Step when it is due.
  void Keep();

  // Returns "0, 2" for the ranks of other workers; empty if there are none.
  std::string Others(
      const google::protobuf::RepeatedField<int32_t>& ranks) const;

  const Clock* const clock_;  // Not owned.
  const absl::Duration patience_;
  Interruption* const interruption_;  // Not owned; may be null.
  std::function<void()> watch_;       // May be null.
  int64_t num_under_way_ = 0;         // Calls that have not been handled.
  int64_t num_asked_ = 0;             // Those of AskWhoIsAwaited among them.
  int rank_ = -1;                     // This worker's.
  std::vector<std::string> awaited_;

  Mutex mu_;
  CondVar news_;  // For the thread that uses this object.
  CondVar due_;   // For keeper_.
  std::deque<std::unique_ptr<Call>> ended_ ABSL_GUARDED_BY(mu_);
  // Whether a session has changed since the thread, or keeper_, last looked.
  bool changed_ ABSL_GUARDED_BY(mu_) = false;
  bool changed_for_keeper_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // These are last because their threads use the members above.
  std::vector<std::unique_ptr<ServerSession>> sessions_;
  Thread keeper_;
};

}  // namespace ps

#endif  // TRANSPORT_SERVER_SESSIONS_H_
