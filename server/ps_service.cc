#include "server/ps_service.h"

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/config.h"
#include "glog/logging.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "server/limits/memory_bound.h"
#include "transport/grpc_status.h"
#include "transport/proto_bytes.h"

namespace ps {

// One worker's standing call; deletes itself when gRPC is done with it.
class AttendCall final : public grpc::ServerWriteReactor<AttendEvent> {
 public:
  AttendCall(PsService* service, int rank, int64_t connection)
      : service_(service), rank_(rank), connection_(connection) {}

  // For a worker that is refused: the call ends at once.
  explicit AttendCall(const absl::Status& refusal)
      : service_(nullptr), rank_(-1), connection_(-1) {
    ended_ = true;
    Finish(ToGrpcStatus(refusal));
  }

  void Begin() {
    // Sent now, long before the first event, so that the worker knows that the
    // call is established.
    StartSendInitialMetadata();
    service_->membership_->Attend(rank_, connection_);
  }

  // Sends the failure, if there is one, and closes the call.
  void End(const absl::Status& status) {
    if (ended_.exchange(true)) return;
    if (status.ok()) {
      Finish(grpc::Status::OK);
      return;
    }
    event_.set_failure(std::string(status.message()));
    // As the exit codes say (ExitCodeFor).
    event_.set_can_go_on(absl::IsUnavailable(status) ||
                         absl::IsDeadlineExceeded(status));
    StartWriteAndFinish(&event_, grpc::WriteOptions(), grpc::Status::OK);
  }

  void OnCancel() override {
    if (service_ != nullptr) {
      service_->membership_->Leave(rank_, connection_);
    }
    End(absl::OkStatus());
  }

  void OnDone() override {
    // gRPC calls this only after Finish. Reading the flag also makes the
    // finishing thread's writes to the object visible to this thread.
    CHECK(ended_.load());
    if (service_ != nullptr) service_->Forget(this);
    delete this;
  }

 private:
  PsService* const service_;  // Not owned. Null for a refused call.
  const int rank_;
  const int64_t connection_;
  std::atomic<bool> ended_{false};
  AttendEvent event_;
};

namespace {

// Of the log about peers.
constexpr absl::Duration kLogInterval = absl::Seconds(10);

}  // namespace

PsService::PsService(const PsServiceOptions& options)
    : config_(options.config),
      shared_config_text_(SharedConfigText(*options.config)),
      server_index_(options.server_index),
      callers_(options.callers),
      membership_(options.membership),
      shard_(options.shard),
      snapshots_(options.snapshots),
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
      // All workers may register, twice.
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

void PsService::SetQuota() const {
  quota_(MessageQuotaBytes(config_->cluster(), credit_.bytes_per_worker() +
                                                   StageCreditBytes(*config_)));
}

PsService::~PsService() {
  // gRPC has released every call. The lock makes this visible to
  // ThreadSanitizer, which does not see gRPC's own locks.
  MutexLock lock(&mu_);
  CHECK(attending_.empty());
}

template <typename Message>
std::optional<Message> PsService::FromWorker(
    const grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
    HeldCall* call) const {
  const absl::StatusOr<Message> message = FromBytes<Message>(bytes);
  absl::Status status = message.status();
  if (status.ok()) status = callers_->CheckWorker(context, message->worker());
  if (status.ok()) return *message;
  call->Respond(status);
  return std::nullopt;
}

grpc::ServerWriteReactor<AttendEvent>* PsService::Attend(
    grpc::CallbackServerContext* context, const AttendRequest* request) {
  const int rank = request->worker().rank();
  const absl::Status known = callers_->CheckWorker(*context, request->worker());
  metrics_->CallEnded("Attend", known.code());
  if (!known.ok()) return new AttendCall(known);
  auto* const call = new AttendCall(this, rank, ++num_attendances_);
  call->Begin();
  absl::Status result;
  {
    MutexLock lock(&mu_);
    attending_.insert(call);
    if (!over_) return call;
    result = result_;
  }
  call->End(result);
  return call;
}

void PsService::Forget(AttendCall* call) {
  MutexLock lock(&mu_);
  attending_.erase(call);
}

grpc::ServerUnaryReactor* PsService::AddSquares(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("AddSquares"));
  SquaresMessage message;
  grpc::ByteBuffer bytes = *request;
  const grpc::Status parsed =
      grpc::SerializationTraits<SquaresMessage>::Deserialize(&bytes, &message);
  if (!parsed.ok()) {
    call->Respond(absl::InvalidArgumentError("the message cannot be parsed"));
    return call.get();
  }
  const absl::Status known =
      callers_->CheckCaller(*context, Role::kServer, message.server_index());
  if (!known.ok()) {
    call->Respond(known);
    return call.get();
  }
  absl::StatusOr<ServerSquares*> squares = shard_->squares();
  // The log may hold the answer.
  if (const absl::Status up = snapshots_->CheckUp(); !up.ok()) squares = up;
  if (!squares.ok()) {
    call->Respond(squares.status());
    return call.get();
  }
  work_queue_->Schedule(
      [call, squares, snapshots = snapshots_, message = std::move(message)] {
        (*squares)->AddFromServer(
            message,
            [call, snapshots](const absl::StatusOr<SquaresMessage>& totals) {
              if (!totals.ok()) {
                call->Respond(snapshots->Refused(totals.status()));
                return;
              }
              const grpc::Slice slice(totals->SerializeAsString());
              call->Respond(grpc::ByteBuffer(&slice, 1));
            });
      });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::FindSnapshots(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("FindSnapshots"));
  const auto message =
      FromWorker<FindSnapshotsRequest>(*context, *request, call.get());
  if (!message.has_value()) return call.get();
  work_queue_->Schedule([snapshots = snapshots_, call, message = *message] {
    snapshots->Find(message, call);
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::Restore(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("Restore"));
  const auto message =
      FromWorker<RestoreRequest>(*context, *request, call.get());
  if (!message.has_value()) return call.get();
  work_queue_->Schedule([snapshots = snapshots_, has_weights = has_weights_,
                         call, message = *message] {
    const absl::Status restored = snapshots->Restore(message);
    if (restored.ok() && message.worker().rank() == 0) has_weights();
    call->Respond(restored);
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::SaveSnapshot(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("SaveSnapshot"));
  const auto message =
      FromWorker<SaveSnapshotRequest>(*context, *request, call.get());
  if (!message.has_value()) return call.get();
  work_queue_->Schedule([snapshots = snapshots_, call, message = *message] {
    snapshots->Save(message, call);
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::Stop(grpc::CallbackServerContext* context,
                                          const StopRequest* request,
                                          StopResponse*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status known = callers_->CheckWorker(*context, request->worker());
  if (known.ok()) *asked_to_stop_ = true;
  metrics_->CallEnded("Stop", known.code());
  reactor->Finish(ToGrpcStatus(known));
  return reactor;
}

grpc::ServerUnaryReactor* PsService::Finish(
    grpc::CallbackServerContext* context, const FinishRequest* request,
    FinishResponse*) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(nullptr, callers_->Counted("Finish"));
  const int rank = request->worker().rank();
  const absl::Status known = callers_->CheckWorker(*context, request->worker());
  if (!known.ok()) {
    call->Respond(known);
    return call.get();
  }
  if (!request->failure().empty()) {
    const std::string failure = OneLine(request->failure());
    if (request->can_go_on()) {
      // However many workers may be lost.
      membership_->Fail(absl::UnavailableError(
          absl::StrCat(membership_->NameOf(rank), ": ", failure)));
    } else {
      membership_->GiveUp(rank, failure);
    }
    call->Respond(absl::OkStatus());
    return call.get();
  }
  if (request->stopped()) stopped_ = true;
  std::shared_ptr<HeldCall> repeated = call;
  absl::Status answer = absl::CancelledError("superseded by a repeat");
  {
    MutexLock lock(&mu_);
    if (over_) {
      answer = result_;
    } else {
      // An earlier call of this worker comes out.
      std::swap(finishing_[rank], repeated);
    }
  }
  if (repeated != nullptr) repeated->Respond(answer);
  membership_->Finish(rank);
  return call.get();
}

grpc::ServerUnaryReactor* PsService::GetStatus(
    grpc::CallbackServerContext* context, const GetStatusRequest* request,
    GetStatusResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  // With TLS, whoever comes here has shown a certificate of the job. Without,
  // nobody is a stranger.
  callers_->Know(*context);
  if (request->sign_of_life()) {
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  response->set_server_index(server_index_);
  response->set_version(shard_->version());
  response->set_num_workers(config_->cluster().num_workers());
  for (const int rank : membership_->MissingRanks()) {
    response->add_missing_ranks(rank);
  }
  for (const int rank : shard_->AwaitedRanks()) {
    response->add_awaited_ranks(rank);
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

void PsService::End(const absl::Status& status) {
  if (!status.ok()) {
    shard_->Fail(status);
    snapshots_->Fail(status);
  }
  std::map<int, std::shared_ptr<HeldCall>> finishing;
  {
    MutexLock lock(&mu_);
    over_ = true;
    result_ = status;
    finishing.swap(finishing_);
    // Called under the lock: Forget needs it too, so no call is deleted
    // meanwhile.
    for (AttendCall* call : attending_) call->End(status);
  }
  for (const auto& entry : finishing) entry.second->Respond(status);
}

}  // namespace ps
