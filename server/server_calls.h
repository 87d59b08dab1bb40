// Handles the calls of a job's processes, for any transport: gRPC
// (server/grpc_services.h) or a simulation.
//
// Handlers parse a message's header and hand all other work to the work queue;
// none of them blocks.
#ifndef SERVER_SERVER_CALLS_H_
#define SERVER_SERVER_CALLS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log_limit.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/config.pb.h"
#include "proto/parameter_server.pb.h"
#include "server/callers.h"
#include "server/held_call.h"
#include "server/held_pushes.h"
#include "server/limits/byte_credit.h"
#include "server/membership.h"
#include "server/relay/aux_calls.h"
#include "server/server_metrics.h"
#include "server/shard.h"
#include "server/shard_snapshots.h"
#include "server/work_queue.h"
#include "transport/server_channel.h"

namespace ps {

class ServerCalls;
struct SliceRequest;

// The reason why a job ends if some workers ended it and another continues.
constexpr char kStopped[] = "other workers have saved a snapshot and ended";

// The transport's functions that answer a worker's standing call.
struct AttendAnswer {
  // Establishes the call. Called at most once, first, within Attend.
  std::function<void()> accept;
  // Ends the call, with an event before if there is one. Called once.
  std::function<void(const AttendEvent* event, const absl::Status& status)>
      close;
};

// One worker's standing call. Thread-safe.
class AttendCall {
 public:
  AttendCall(AttendAnswer answer, ServerCalls* calls, int rank,
             int64_t connection)
      : answer_(std::move(answer)),
        calls_(calls),
        rank_(rank),
        connection_(connection) {}

  // Sends the failure, if there is one, and closes the call, once.
  void End(const absl::Status& status);

  // Called by the transport when the worker has left; not after the server is
  // gone.
  void Cancel();

 private:
  friend class ServerCalls;
  const AttendAnswer answer_;
  ServerCalls* const calls_;  // Null for a refused worker.
  const int rank_;
  const int64_t connection_;
  std::atomic<bool> ended_{false};
};

// The options. None of the plain pointers is owned; all outlive the calls.
struct ServerCallsOptions {
  const JobConfig* config = nullptr;
  int server_index = 0;
  const Callers* callers = nullptr;
  Membership* membership = nullptr;
  Shard* shard = nullptr;
  ShardSnapshots* snapshots = nullptr;
  AuxCalls* aux = nullptr;
  WorkQueue* work_queue = nullptr;
  // These are shared with answers that outlive the service.
  std::shared_ptr<ServerMetrics> metrics;
  const Clock* clock = nullptr;
  std::atomic<bool>* asked_to_stop = nullptr;
  std::function<void()> has_weights;  // The function of ServerOptions.
  // Called with the bytes that gRPC may use (MessageQuotaBytes), now and when
  // they change.
  std::function<void(int64_t bytes)> quota;
  // Whether the job was done before this process; all that register are told.
  bool done = false;
};

// The handlers. Thread-safe.
class ServerCalls {
 public:
  explicit ServerCalls(const ServerCallsOptions& options);
  ~ServerCalls();

  // The bytes that this worker's pushes and initial weights hold and may hold.
  int64_t held_bytes(int rank) const { return credit_.held_bytes(rank); }
  int64_t credit_bytes() const { return credit_.bytes_per_worker(); }

  // Whether workers have saved a snapshot and ended, instead of being done.
  bool stopped() const { return stopped_; }

  // Ends the job: answers every deferred call and tells every attending worker.
  // Later calls get `status`, or an empty success if it is OK.
  void End(const absl::Status& status);

  // Answers a unary call, within this function or later. The transport reports
  // to the returned object what happens to the call.
  std::shared_ptr<HeldCall> Call(Rpc rpc, const Caller& caller,
                                 const grpc::ByteBuffer& request,
                                 HeldCall::Answer answer);

  // Answers a worker's standing call, which may be closed at once.
  std::shared_ptr<AttendCall> Attend(const Caller& caller,
                                     const AttendRequest& request,
                                     AttendAnswer answer);

 private:
  friend class AttendCall;
  using CallPtr = std::shared_ptr<HeldCall>;
  using Handler = void (ServerCalls::*)(const Caller& caller,
                                        const grpc::ByteBuffer& request,
                                        const CallPtr& call);
  // Returns the handler of a call, and the name by which it is counted; null if
  // it is not.
  static std::pair<Handler, const char*> HandlerOf(Rpc rpc);

  void Register(const Caller& caller, const grpc::ByteBuffer& request,
                const CallPtr& call);
  void InitializeSlice(const Caller& caller, const grpc::ByteBuffer& request,
                       const CallPtr& call);
  void Pull(const Caller& caller, const grpc::ByteBuffer& request,
            const CallPtr& call);
  void Push(const Caller& caller, const grpc::ByteBuffer& request,
            const CallPtr& call);
  void GetPositions(const Caller& caller, const grpc::ByteBuffer& request,
                    const CallPtr& call);
  void AddSquares(const Caller& caller, const grpc::ByteBuffer& request,
                  const CallPtr& call);
  void FindSnapshots(const Caller& caller, const grpc::ByteBuffer& request,
                     const CallPtr& call);
  void Restore(const Caller& caller, const grpc::ByteBuffer& request,
               const CallPtr& call);
  void SaveSnapshot(const Caller& caller, const grpc::ByteBuffer& request,
                    const CallPtr& call);
  void Stop(const Caller& caller, const grpc::ByteBuffer& request,
            const CallPtr& call);
  void Finish(const Caller& caller, const grpc::ByteBuffer& request,
              const CallPtr& call);
  void GetStatus(const Caller& caller, const grpc::ByteBuffer& request,
                 const CallPtr& call);
  void AuxPut(const Caller& caller, const grpc::ByteBuffer& request,
              const CallPtr& call) {
    aux_->Put(caller, request, call);
  }
  void AuxGet(const Caller& caller, const grpc::ByteBuffer& request,
              const CallPtr& call) {
    aux_->Get(caller, request, call);
  }

  // Parses a message from a known worker, or answers the call with an error.
  template <typename Message>
  std::optional<Message> FromWorker(const Caller& caller,
                                    const grpc::ByteBuffer& bytes,
                                    HeldCall* call) const;
  absl::StatusOr<SliceRequest> OpenSliceRequest(
      const Caller& caller, const grpc::ByteBuffer& bytes) const;
  // Like OpenSliceRequest, and claims the memory of an answer with all elements
  // of the slice for `call`. If either fails, answers the call and returns
  // nullopt.
  std::optional<SliceRequest> OpenForAnswer(const Caller& caller,
                                            const grpc::ByteBuffer& bytes,
                                            HeldCall* call);
  absl::Status CheckConfig(const RegisterRequest& request);
  // Checks that a worker has the same data as the admitted workers, of which it
  // may be one, and keeps their data.
  absl::Status CheckData(const RegisterRequest& request, bool admitted);
  absl::Status HandleRegister(const RegisterRequest& request,
                              RegisterResponse* response);
  void Left(int rank, int64_t connection);
  // Bounds the memory, when the layout is known.
  void BoundMemory();
  void SetQuota() const;

  const JobConfig* const config_;
  const std::string shared_config_text_;
  const int server_index_;
  const Callers* const callers_;
  Membership* const membership_;
  Shard* const shard_;
  ShardSnapshots* const snapshots_;
  AuxCalls* const aux_;
  WorkQueue* const work_queue_;
  const std::shared_ptr<ServerMetrics> metrics_;
  const Clock* const clock_;
  std::atomic<bool>* const asked_to_stop_;
  std::atomic<bool> stopped_{false};
  // Calls the caller's function once. Outlives this object, as answers may.
  const std::function<void()> has_weights_;
  const std::function<void(int64_t)> quota_;
  const bool done_;
  LogLimit about_peers_;
  ByteCredit credit_;   // Limits waiting pushes and initial weights.
  ByteCredit answers_;  // Limits the answers that have not been sent.
  // These are shared with answers, which may come after this object is gone.
  const std::shared_ptr<HeldPushes> held_pushes_;
  // The number of waiting calls of GetPositions; shared with answers, too.
  const std::shared_ptr<std::atomic<int>> num_asking_ =
      std::make_shared<std::atomic<int>>(0);
  std::atomic<int64_t> num_attendances_{0};
  std::atomic<bool> bound_known_{false};

  Mutex mu_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status result_ ABSL_GUARDED_BY(mu_);  // The result when over_ is set.
  // The standing calls by number.
  std::map<int64_t, std::shared_ptr<AttendCall>> attending_
      ABSL_GUARDED_BY(mu_);
  std::map<int, CallPtr> finishing_ ABSL_GUARDED_BY(mu_);  // By rank.
  // The DataDescription of each rank that was ever admitted.
  std::map<int, std::shared_ptr<const std::string>> data_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_SERVER_CALLS_H_
