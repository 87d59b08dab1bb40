#include "server/ps_service.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/shared_positions.h"
#include "glog/logging.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "server/limits/memory_bound.h"
#include "transport/grpc_status.h"
#include "transport/proto_bytes.h"
#include "transport/slice_message.h"

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

// The parsed request of Push, Pull and InitializeSlice: a message from a known
// worker about a slice of this server.
struct SliceRequest {
  ReceivedSliceMessage message;
  WeightSlice* slice = nullptr;
};

namespace {

// When a call arrived, and whether it wants weights back.
struct Arrival {
  Arrival(const Clock* clock, std::shared_ptr<ServerMetrics> metrics)
      : clock(clock), metrics(std::move(metrics)), time(clock->Now()) {}

  const Clock* clock;
  std::shared_ptr<ServerMetrics> metrics;
  absl::Time time;
  bool wants_weights = true;
};

grpc::ByteBuffer EncodeAnswer(const SliceMessage& request,
                              const WeightAnswer& answer,
                              const Arrival& arrival) {
  SliceMessage header;
  header.set_bucket(request.bucket());
  header.set_slice(request.slice());
  header.set_iteration(answer.version);
  header.set_loss(answer.mean_loss);
  header.set_sent_elements(answer.sent_elements);
  header.set_bytes_up(answer.bytes_up);
  header.mutable_outcome()->set_left_out(answer.left_out);
  header.mutable_outcome()->set_staleness(answer.staleness);
  header.mutable_outcome()->set_stop(answer.stop);
  if (answer.compress_next.has_value()) {
    header.set_compress_next(*answer.compress_next);
  }
  if (answer.complete > absl::InfinitePast()) {
    ServerWork work;
    work.held = absl::ToDoubleSeconds(arrival.clock->Now() - arrival.time);
    work.wait =
        std::max(0.0, absl::ToDoubleSeconds(answer.complete - arrival.time));
    work.update = answer.phases;
    ServerPhases* const phases = header.mutable_phases();
    phases->set_held(work.held);
    phases->set_wait(work.wait);
    phases->set_sum(work.update.sum);
    phases->set_optimizer(work.update.optimizer);
    phases->set_encode(work.update.encode);
    arrival.metrics->PushAnswered(work, answer.staleness);
  }
  if (!arrival.wants_weights) {
    return EncodeSliceMessage(header, PayloadBuffer());
  }
  header.set_difference(answer.weights.difference);
  header.mutable_outcome()->set_covers_pushes(answer.weights.covers_pushes);
  grpc::ByteBuffer message = EncodeSliceMessage(header, answer.weights.bytes);
  arrival.metrics->Sent(answer.weights.difference,
                        static_cast<int64_t>(message.Length()));
  return message;
}

HeldPushes::Id IdOf(const SliceMessage& header) {
  return {header.worker().rank(), header.iteration(), header.bucket(),
          header.slice()};
}

// The push is held; this answers it.
void HandlePush(SliceRequest request, const Arrival& arrival,
                const std::shared_ptr<HeldPushes>& held,
                ShardSnapshots* snapshots) {
  const SliceMessage header = request.message.header;
  const PayloadPieces& pieces = request.message.payload.pieces;
  // The slice completes and validates what lacks positions, and has what only
  // the compressor can read checked by its part.
  const bool lacks_positions = LacksPositions(pieces);
  const bool is_plain = !lacks_positions && !CodedByCompressor(pieces);
  absl::StatusOr<PayloadInfo> info = PayloadInfo();
  if (is_plain) {
    info = ValidatePayload(pieces, request.slice->num_elements());
  }
  if (!info.ok()) {
    held->Release(IdOf(header))
        ->Respond(Annotate(
            info.status(),
            absl::StrCat("payload of worker ", header.worker().rank(),
                         " for slice ", header.slice(), " of bucket ",
                         header.bucket(), ", iteration ", header.iteration())));
    return;
  }
  WorkerPush push;
  push.rank = header.worker().rank();
  push.iteration = header.iteration();
  push.loss = header.loss();
  push.count = info->count;
  push.dense = is_plain && info->index_code == IndexCode::kDense;
  push.lacks_positions = lacks_positions;
  push.message_bytes = request.message.message_bytes;
  push.base_version = header.base_version();
  if (header.has_compress_next()) push.compress_next = header.compress_next();
  if (header.has_weights_digest()) {
    push.weights_digest = header.weights_digest();
  }
  // The slice must own the whole payload: the worker's credit is returned when
  // the slice releases it.
  push.payload = std::move(request.message.payload);
  request.slice->Push(
      std::move(push), [held, header, arrival,
                        snapshots](const absl::StatusOr<WeightAnswer>& answer) {
        const std::shared_ptr<HeldCall> call = held->Release(IdOf(header));
        if (answer.ok()) {
          call->Respond(EncodeAnswer(header, *answer, arrival));
        } else {
          call->Respond(
              snapshots->Refused(header.worker().rank(), answer.status()));
        }
      });
}

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

absl::StatusOr<SliceRequest> PsService::OpenSliceRequest(
    const grpc::CallbackServerContext& context,
    const grpc::ByteBuffer& bytes) const {
  SliceRequest request;
  PS_ASSIGN_OR_RETURN(request.message, DecodeSliceMessage(bytes));
  const SliceMessage& header = request.message.header;
  PS_RETURN_IF_ERROR(callers_->CheckWorker(context, header.worker()));
  PS_ASSIGN_OR_RETURN(request.slice,
                      shard_->Find(header.bucket(), header.slice()));
  return request;
}

std::optional<SliceRequest> PsService::OpenForAnswer(
    const grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
    HeldCall* call) {
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(context, bytes);
  absl::Status status = opened.status();
  if (status.ok()) {
    // Positions take at most four bytes, as weights do.
    absl::StatusOr<std::shared_ptr<const void>> claim =
        answers_.Take(opened->message.header.worker().rank(),
                      MaxAnswerBytes(*config_, opened->slice->num_elements()));
    if (claim.ok()) {
      call->Keep(*std::move(claim));
      return *std::move(opened);
    }
    status = claim.status();
  }
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

grpc::ServerUnaryReactor* PsService::InitializeSlice(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("InitializeSlice"));
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(*context, *request);
  if (!opened.ok()) {
    call->Respond(opened.status());
    return call.get();
  }
  const int rank = opened->message.header.worker().rank();
  if (rank != 0) {
    call->Respond(absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " sends first weights; only worker 0 may do that")));
    return call.get();
  }
  ReceivedPayload& payload = opened->message.payload;
  absl::StatusOr<std::shared_ptr<const void>> taken =
      credit_.Take(rank, opened->message.message_bytes, payload.owner);
  if (!taken.ok()) {
    call->Respond(taken.status());
    return call.get();
  }
  payload.owner = *std::move(taken);
  metrics_->FirstWeightsReceived(opened->message.message_bytes);
  work_queue_->Schedule([has_weights = has_weights_, snapshots = snapshots_,
                         call, opened = *std::move(opened)]() mutable {
    const absl::StatusOr<PayloadInfo> info = ValidatePayload(
        opened.message.payload.pieces, opened.slice->num_elements());
    absl::Status status = info.status();
    // fp32 takes four bytes a weight. With a shorter code, a few bytes could
    // make the server allocate any number of weights.
    if (status.ok() && (info->index_code != IndexCode::kDense ||
                        info->value_code != ValueCode::kFp32)) {
      status =
          absl::InvalidArgumentError("initial weights must be dense and fp32");
    }
    if (status.ok()) status = snapshots->BeforeFirstWeights();
    if (!status.ok()) {
      call->Respond(status);
      return;
    }
    opened.slice->Initialize(std::move(opened.message.payload),
                             [has_weights, call](const absl::Status& set) {
                               if (set.ok()) has_weights();
                               call->Respond(set);
                             });
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::Pull(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("Pull"));
  std::optional<SliceRequest> opened =
      OpenForAnswer(*context, *request, call.get());
  if (!opened.has_value()) return call.get();
  // Pull may wait for an update of the slice and encode all its weights.
  work_queue_->Schedule([call, arrival = Arrival(clock_, metrics_),
                         opened = *std::move(opened)] {
    const SliceMessage& header = opened.message.header;
    opened.slice->Pull(
        header.worker().rank(), header.iteration(),
        [call, arrival, header](const absl::StatusOr<WeightAnswer>& answer) {
          if (answer.ok()) {
            call->Respond(EncodeAnswer(header, *answer, arrival));
          } else {
            call->Respond(answer.status());
          }
        });
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::Push(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("Push"));
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(*context, *request);
  if (!opened.ok()) {
    call->Respond(opened.status());
    return call.get();
  }
  Arrival arrival(clock_, metrics_);
  arrival.wants_weights = !opened->message.header.without_weights();
  const HeldPushes::Id id = IdOf(opened->message.header);
  const int rank = opened->message.header.worker().rank();
  const int64_t answer_bytes = MaxAnswerBytes(
      *config_, arrival.wants_weights ? opened->slice->num_elements() : 0);
  absl::StatusOr<std::shared_ptr<const void>> claim =
      answers_.Take(rank, answer_bytes);
  // A repeat takes over the answer, so it counts in any case.
  call->Keep(claim.ok() ? *claim : answers_.Count(rank, answer_bytes));
  if (!held_pushes_->Hold(id, call)) return call.get();
  ReceivedPayload& payload = opened->message.payload;
  absl::StatusOr<std::shared_ptr<const void>> taken = claim;
  if (claim.ok()) {
    taken = credit_.Take(rank, opened->message.message_bytes, payload.owner);
  }
  if (!taken.ok()) {
    held_pushes_->Release(id)->Respond(taken.status());
    return call.get();
  }
  payload.owner = *std::move(taken);
  metrics_->PushReceived(opened->message.message_bytes);
  work_queue_->Schedule([held = held_pushes_, arrival, snapshots = snapshots_,
                         opened = *std::move(opened)]() mutable {
    HandlePush(std::move(opened), arrival, held, snapshots);
  });
  return call.get();
}

grpc::ServerUnaryReactor* PsService::GetPositions(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  const std::shared_ptr<HeldCall> call =
      HeldCall::New(response, callers_->Counted("GetPositions"));
  std::optional<SliceRequest> opened =
      OpenForAnswer(*context, *request, call.get());
  if (!opened.has_value()) return call.get();
  work_queue_->Schedule([call, opened = *std::move(opened)] {
    const SliceMessage& header = opened.message.header;
    opened.slice->GetPositions(
        header.worker().rank(), header.iteration(),
        [call, header](const absl::StatusOr<PayloadBuffer>& positions) {
          if (!positions.ok()) {
            call->Respond(positions.status());
            return;
          }
          SliceMessage answer;
          answer.set_bucket(header.bucket());
          answer.set_slice(header.slice());
          answer.set_iteration(header.iteration());
          call->Respond(EncodeSliceMessage(answer, *positions));
        });
  });
  return call.get();
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
  // A server that reads its log may hold the answer.
  if (const absl::Status ready = snapshots_->CheckReady(); !ready.ok()) {
    squares = ready;
  }
  if (!squares.ok()) {
    call->Respond(squares.status());
    return call.get();
  }
  work_queue_->Schedule([call, squares, message = std::move(message)] {
    (*squares)->AddFromServer(
        message, [call](const absl::StatusOr<SquaresMessage>& totals) {
          if (!totals.ok()) {
            call->Respond(totals.status());
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
    membership_->GiveUp(rank, OneLine(request->failure()),
                        request->can_go_on());
    call->Respond(absl::OkStatus());
    return call.get();
  }
  if (request->stopped()) stopped_ = true;
  {
    MutexLock lock(&mu_);
    if (!over_) finishing_.insert(call);
    if (over_) call->Respond(result_);
  }
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
  std::set<std::shared_ptr<HeldCall>> finishing;
  {
    MutexLock lock(&mu_);
    over_ = true;
    result_ = status;
    finishing.swap(finishing_);
    // Called under the lock: Forget needs it too, so no call is deleted
    // meanwhile.
    for (AttendCall* call : attending_) call->End(status);
  }
  for (const auto& call : finishing) call->Respond(status);
}

}  // namespace ps
