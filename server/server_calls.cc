#include "server/server_calls.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "glog/logging.h"
#include "server/limits/memory_bound.h"
#include "transport/proto_bytes.h"

namespace ps {

namespace {

// The rate limit of log lines about peers.
constexpr absl::Duration kLogInterval = absl::Seconds(10);

}  // namespace

ServerCalls::ServerCalls(const ServerCallsOptions& options)
    : config_(options.config),
      shared_config_text_(SharedConfigText(*options.config)),
      server_index_(options.server_index),
      callers_(options.callers),
      membership_(options.membership),
      shard_(options.shard),
      snapshots_(options.snapshots),
      aux_(options.aux),
      work_queue_(options.work_queue),
      metrics_(options.metrics),
      clock_(options.clock),
      asked_to_stop_(options.asked_to_stop),
      has_weights_([called = std::make_shared<std::atomic<bool>>(false),
                    call = options.has_weights] {
        if (!called->exchange(true) && call != nullptr) call();
      }),
      quota_(options.quota),
      done_(options.done),
      // All workers may register twice.
      about_peers_(100 + 2 * config_->cluster().num_workers(), kLogInterval,
                   clock_),
      credit_("pushes that wait here", config_->cluster().num_workers(),
              static_cast<int64_t>(config_->cluster().credit_megabytes() *
                                   (1 << 20))),
      answers_("answers that it has not read", config_->cluster().num_workers(),
               credit_.bytes_per_worker()),
      held_pushes_(std::make_shared<HeldPushes>()) {
  SetQuota();
}

ServerCalls::~ServerCalls() {
  // The transport has released every call. The lock makes this visible to
  // ThreadSanitizer, which does not see gRPC's own locks.
  MutexLock lock(&mu_);
  attending_.clear();
  finishing_.clear();
}

void ServerCalls::SetQuota() const {
  quota_(MessageQuotaBytes(config_->cluster(), credit_.bytes_per_worker() +
                                                   StageCreditBytes(*config_)));
}

void AttendCall::End(const absl::Status& status) {
  if (ended_.exchange(true)) return;
  if (status.ok()) {
    answer_.close(nullptr, status);
    return;
  }
  AttendEvent event;
  event.set_failure(std::string(status.message()));
  // The flag follows the exit codes (ExitCodeFor).
  event.set_can_go_on(absl::IsUnavailable(status) ||
                      absl::IsDeadlineExceeded(status));
  answer_.close(&event, absl::OkStatus());
}

void AttendCall::Cancel() {
  if (calls_ != nullptr) calls_->Left(rank_, connection_);
  End(absl::OkStatus());
}

void ServerCalls::Left(int rank, int64_t connection) {
  membership_->Leave(rank, connection);
  MutexLock lock(&mu_);
  attending_.erase(connection);
}

std::pair<ServerCalls::Handler, const char*> ServerCalls::HandlerOf(Rpc rpc) {
  switch (rpc) {
    case Rpc::kRegister:
      return {&ServerCalls::Register, "Register"};
    case Rpc::kFindSnapshots:
      return {&ServerCalls::FindSnapshots, "FindSnapshots"};
    case Rpc::kRestore:
      return {&ServerCalls::Restore, "Restore"};
    case Rpc::kInitializeSlice:
      return {&ServerCalls::InitializeSlice, "InitializeSlice"};
    case Rpc::kPush:
      return {&ServerCalls::Push, "Push"};
    case Rpc::kPull:
      return {&ServerCalls::Pull, "Pull"};
    case Rpc::kGetPositions:
      return {&ServerCalls::GetPositions, "GetPositions"};
    case Rpc::kSaveSnapshot:
      return {&ServerCalls::SaveSnapshot, "SaveSnapshot"};
    case Rpc::kStop:
      return {&ServerCalls::Stop, "Stop"};
    case Rpc::kFinish:
      return {&ServerCalls::Finish, "Finish"};
    case Rpc::kGetStatus:
      return {&ServerCalls::GetStatus, nullptr};
    case Rpc::kAuxPut:
      return {&ServerCalls::AuxPut, "AuxPut"};
    case Rpc::kAuxGet:
      return {&ServerCalls::AuxGet, "AuxGet"};
    case Rpc::kAddSquares:
      return {&ServerCalls::AddSquares, "AddSquares"};
  }
  LOG(FATAL) << "no such call: " << static_cast<int>(rpc);
}

std::shared_ptr<HeldCall> ServerCalls::Call(Rpc rpc, const Caller& caller,
                                            const grpc::ByteBuffer& request,
                                            HeldCall::Answer answer) {
  const auto [handler, name] = HandlerOf(rpc);
  if (name != nullptr) {
    answer = [metrics = metrics_, name = name, answer = std::move(answer)](
                 absl::StatusOr<grpc::ByteBuffer> result) {
      metrics->CallEnded(name, result.status().code());
      answer(std::move(result));
    };
  }
  const auto call = std::make_shared<HeldCall>(std::move(answer));
  (this->*handler)(caller, request, call);
  return call;
}

template <typename Message>
std::optional<Message> ServerCalls::FromWorker(const Caller& caller,
                                               const grpc::ByteBuffer& bytes,
                                               HeldCall* call) const {
  const absl::StatusOr<Message> message = FromBytes<Message>(bytes);
  absl::Status status = message.status();
  if (status.ok()) status = callers_->CheckWorker(caller, message->worker());
  if (status.ok()) return *message;
  call->Respond(status);
  return std::nullopt;
}

std::shared_ptr<AttendCall> ServerCalls::Attend(const Caller& caller,
                                                const AttendRequest& request,
                                                AttendAnswer answer) {
  const int rank = request.worker().rank();
  const absl::Status known = callers_->CheckWorker(caller, request.worker());
  metrics_->CallEnded("Attend", known.code());
  const auto call = std::make_shared<AttendCall>(
      std::move(answer), known.ok() ? this : nullptr, rank, ++num_attendances_);
  if (!known.ok()) {
    call->ended_ = true;
    call->answer_.close(nullptr, known);
    return call;
  }
  // This is sent now, long before the first event, so that the worker knows
  // that the call is established.
  call->answer_.accept();
  membership_->Attend(rank, call->connection_);
  absl::Status result;
  {
    MutexLock lock(&mu_);
    if (!over_) {
      attending_[call->connection_] = call;
      return call;
    }
    result = result_;
  }
  call->End(result);
  return call;
}

void ServerCalls::AddSquares(const Caller& caller,
                             const grpc::ByteBuffer& request,
                             const CallPtr& call) {
  const auto message = FromBytes<SquaresMessage>(request);
  absl::Status known = message.status();
  if (known.ok()) {
    known =
        callers_->CheckCaller(caller, Role::kServer, message->server_index());
  }
  if (!known.ok()) {
    call->Respond(known);
    return;
  }
  absl::StatusOr<ServerSquares*> squares = shard_->squares();
  // The log may hold the answer.
  if (const absl::Status up = snapshots_->CheckUp(); !up.ok()) squares = up;
  if (!squares.ok()) {
    call->Respond(squares.status());
    return;
  }
  work_queue_->Schedule(
      [call, squares, snapshots = snapshots_, message = *message] {
        (*squares)->AddFromServer(
            message,
            [call, snapshots](const absl::StatusOr<SquaresMessage>& totals) {
              if (!totals.ok()) {
                call->Respond(snapshots->Refused(totals.status()));
                return;
              }
              call->Respond(ToBytes(*totals));
            });
      });
}

void ServerCalls::FindSnapshots(const Caller& caller,
                                const grpc::ByteBuffer& request,
                                const CallPtr& call) {
  const auto message =
      FromWorker<FindSnapshotsRequest>(caller, request, call.get());
  if (!message.has_value()) return;
  work_queue_->Schedule([snapshots = snapshots_, call, message = *message] {
    snapshots->Find(message, call);
  });
}

void ServerCalls::Restore(const Caller& caller, const grpc::ByteBuffer& request,
                          const CallPtr& call) {
  const auto message = FromWorker<RestoreRequest>(caller, request, call.get());
  if (!message.has_value()) return;
  work_queue_->Schedule([snapshots = snapshots_, has_weights = has_weights_,
                         call, message = *message] {
    const absl::Status restored = snapshots->Restore(message);
    if (restored.ok() && message.worker().rank() == 0) has_weights();
    call->Respond(restored);
  });
}

void ServerCalls::SaveSnapshot(const Caller& caller,
                               const grpc::ByteBuffer& request,
                               const CallPtr& call) {
  const auto message =
      FromWorker<SaveSnapshotRequest>(caller, request, call.get());
  if (!message.has_value()) return;
  work_queue_->Schedule([snapshots = snapshots_, call, message = *message] {
    snapshots->Save(message, call);
  });
}

void ServerCalls::Stop(const Caller& caller, const grpc::ByteBuffer& request,
                       const CallPtr& call) {
  if (!FromWorker<StopRequest>(caller, request, call.get())) return;
  *asked_to_stop_ = true;
  call->Respond(absl::OkStatus());
}

void ServerCalls::Finish(const Caller& caller, const grpc::ByteBuffer& request,
                         const CallPtr& call) {
  const auto message = FromWorker<FinishRequest>(caller, request, call.get());
  if (!message.has_value()) return;
  const int rank = message->worker().rank();
  if (!message->failure().empty()) {
    const std::string failure = OneLine(message->failure());
    if (message->can_go_on()) {
      // The job ends this way however many workers may be lost.
      membership_->Fail(absl::UnavailableError(
          absl::StrCat(membership_->NameOf(rank), ": ", failure)));
    } else {
      membership_->GiveUp(rank, failure);
    }
    call->Respond(absl::OkStatus());
    return;
  }
  if (message->stopped()) {
    stopped_ = true;
    // A restarted worker, which was killed after it had saved, too, has
    // continued.
    if (!held_pushes_->empty() || *num_asking_ > 0) {
      snapshots_->StartAgain(kStopped).IgnoreError();
    }
  }
  absl::Status result = absl::CancelledError("superseded by a repeat");
  CallPtr ended = call;
  {
    MutexLock lock(&mu_);
    if (over_) {
      result = result_;
    } else {
      ended.swap(finishing_[rank]);
    }
  }
  if (ended != nullptr) ended->Respond(result);
  membership_->Finish(rank);
}

void ServerCalls::GetStatus(const Caller& caller,
                            const grpc::ByteBuffer& request,
                            const CallPtr& call) {
  // With TLS, the caller has shown a certificate of the job. Without, all peers
  // count as authenticated.
  callers_->Know(caller);
  const auto message = FromBytes<GetStatusRequest>(request);
  GetStatusResponse response;
  if (!message.ok() || message->sign_of_life()) {
    call->Respond(message.status());
    return;
  }
  response.set_server_index(server_index_);
  response.set_version(shard_->version());
  response.set_num_workers(config_->cluster().num_workers());
  for (const int rank : membership_->MissingRanks()) {
    response.add_missing_ranks(rank);
  }
  if (message->when_none_is_missing() && response.missing_ranks_size() > 0) {
    call->Respond(absl::UnavailableError(
        absl::StrCat("worker ", absl::StrJoin(response.missing_ranks(), ", "),
                     " is not connected to server ", server_index_)));
    return;
  }
  for (const int rank : membership_->FirstSharers()) {
    response.add_first_sharers(rank);
  }
  for (const int rank : shard_->AwaitedRanks()) {
    response.add_awaited_ranks(rank);
  }
  call->Respond(ToBytes(response));
}

void ServerCalls::End(const absl::Status& status) {
  if (!status.ok()) {
    shard_->Fail(status);
    snapshots_->Fail(status);
  }
  std::map<int64_t, std::shared_ptr<AttendCall>> attending;
  std::map<int, CallPtr> finishing;
  {
    MutexLock lock(&mu_);
    over_ = true;
    result_ = status;
    attending.swap(attending_);
    finishing.swap(finishing_);
  }
  for (const auto& [connection, call] : attending) call->End(status);
  for (const auto& [rank, call] : finishing) call->Respond(status);
}

}  // namespace ps
