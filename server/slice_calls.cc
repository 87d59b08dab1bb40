// Handles the calls that read and change slices: initial weights, pulls,
// pushes, and positions.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "server/limits/memory_bound.h"
#include "server/server_calls.h"
#include "server/slices/slice_weights.h"
#include "transport/server_timings.h"
#include "transport/slice_message.h"

namespace ps {

// The parsed request of Push, Pull and InitializeSlice: a message from a known
// worker about a slice of this server.
struct SliceRequest {
  ReceivedSliceMessage message;
  WeightSlice* slice = nullptr;
};

namespace {

// The arrival time of a call, and whether it wants weights back.
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
  header.mutable_outcome()->set_dropped(answer.dropped);
  header.mutable_outcome()->set_staleness(answer.staleness);
  header.mutable_outcome()->set_stop(answer.stop);
  if (answer.compress_next.has_value()) {
    header.set_compress_next(*answer.compress_next);
  }
  if (answer.complete > absl::InfinitePast()) {
    ServerTimings timings = answer.timings;
    timings.held = absl::ToDoubleSeconds(arrival.clock->Now() - arrival.time);
    timings.wait =
        std::max(0.0, absl::ToDoubleSeconds(answer.complete - arrival.time));
    ServerPhases* const phases = header.mutable_phases();
    phases->set_held(timings.held);
    phases->set_wait(timings.wait);
    phases->set_sum(timings.sum);
    phases->set_optimizer(timings.optimizer);
    phases->set_encode(timings.encode);
    arrival.metrics->PushAnswered(timings, answer.staleness);
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
  return {header.worker().rank(), header.worker().incarnation(),
          header.iteration(), header.bucket(), header.slice()};
}

// Answers a push that is held.
void HandlePush(SliceRequest request, const Arrival& arrival,
                const std::shared_ptr<HeldPushes>& held,
                ShardSnapshots* snapshots) {
  const SliceMessage header = request.message.header;
  const PayloadPieces& pieces = request.message.payload.pieces;
  // The slice completes and validates pushes that lack positions, and its
  // server-side codec checks those that only the compressor can read.
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
  push.samples = header.samples();
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
          call->Respond(snapshots->Refused(answer.status()));
        }
      });
}

}  // namespace

absl::StatusOr<SliceRequest> ServerCalls::OpenSliceRequest(
    const Caller& caller, const grpc::ByteBuffer& bytes) const {
  SliceRequest request;
  PS_ASSIGN_OR_RETURN(request.message, DecodeSliceMessage(bytes));
  const SliceMessage& header = request.message.header;
  PS_RETURN_IF_ERROR(callers_->CheckWorker(caller, header.worker()));
  PS_ASSIGN_OR_RETURN(request.slice,
                      shard_->Find(header.bucket(), header.slice()));
  return request;
}

std::optional<SliceRequest> ServerCalls::OpenForAnswer(
    const Caller& caller, const grpc::ByteBuffer& bytes, HeldCall* call) {
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(caller, bytes);
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

void ServerCalls::InitializeSlice(const Caller& caller,
                                  const grpc::ByteBuffer& request,
                                  const CallPtr& call) {
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(caller, request);
  if (!opened.ok()) {
    call->Respond(opened.status());
    return;
  }
  const int rank = opened->message.header.worker().rank();
  if (rank != 0 && !AnswersMeans(*config_)) {
    call->Respond(absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " sends initial weights; only worker 0 may do that")));
    return;
  }
  ReceivedPayload& payload = opened->message.payload;
  absl::StatusOr<std::shared_ptr<const void>> taken =
      credit_.Take(rank, opened->message.message_bytes, payload.owner);
  if (!taken.ok()) {
    call->Respond(taken.status());
    return;
  }
  payload.owner = *std::move(taken);
  metrics_->InitialWeightsReceived(opened->message.message_bytes);
  work_queue_->Schedule([has_weights = has_weights_, snapshots = snapshots_,
                         call, opened = *std::move(opened)]() mutable {
    const absl::StatusOr<PayloadInfo> info = ValidatePayload(
        opened.message.payload.pieces, opened.slice->num_elements());
    absl::Status status = info.status();
    if (status.ok()) status = CheckFirst(opened.slice->rule(), *info);
    if (status.ok()) status = snapshots->BeforeInitialWeights();
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
}

void ServerCalls::Pull(const Caller& caller, const grpc::ByteBuffer& request,
                       const CallPtr& call) {
  std::optional<SliceRequest> opened =
      OpenForAnswer(caller, request, call.get());
  if (!opened.has_value()) return;
  // Pull may wait for an update of the slice and encode all its weights.
  work_queue_->Schedule([call, arrival = Arrival(clock_, metrics_),
                         snapshots = snapshots_, opened = *std::move(opened)] {
    // The log begins after the slices have their weights.
    if (const absl::Status up = snapshots->CheckUp(); !up.ok()) {
      call->Respond(up);
      return;
    }
    const SliceMessage& header = opened.message.header;
    opened.slice->Pull(
        header.worker().rank(), header.iteration(),
        [call, arrival, snapshots,
         header](const absl::StatusOr<WeightAnswer>& answer) {
          if (answer.ok()) {
            call->Respond(EncodeAnswer(header, *answer, arrival));
          } else {
            call->Respond(snapshots->Refused(answer.status()));
          }
        });
  });
}

void ServerCalls::Push(const Caller& caller, const grpc::ByteBuffer& request,
                       const CallPtr& call) {
  absl::StatusOr<SliceRequest> opened = OpenSliceRequest(caller, request);
  if (!opened.ok()) {
    call->Respond(opened.status());
    return;
  }
  Arrival arrival(clock_, metrics_);
  arrival.wants_weights = !opened->message.header.without_weights();
  const HeldPushes::Id id = IdOf(opened->message.header);
  const int rank = opened->message.header.worker().rank();
  const int64_t answer_bytes = MaxAnswerBytes(
      *config_, arrival.wants_weights ? opened->slice->num_elements() : 0);
  absl::StatusOr<std::shared_ptr<const void>> claim =
      answers_.Take(rank, answer_bytes);
  // A repeat receives the answer, so it counts in any case.
  call->Keep(claim.ok() ? *claim : answers_.Count(rank, answer_bytes));
  if (!held_pushes_->Hold(id, call)) return;
  // Finish sets it before it looks for held pushes.
  if (stopped_) {
    held_pushes_->Release(id)->Respond(snapshots_->StartAgain(kStopped));
    return;
  }
  ReceivedPayload& payload = opened->message.payload;
  absl::StatusOr<std::shared_ptr<const void>> taken = claim;
  if (claim.ok()) {
    taken = credit_.Take(rank, opened->message.message_bytes, payload.owner);
  }
  if (!taken.ok()) {
    held_pushes_->Release(id)->Respond(taken.status());
    return;
  }
  payload.owner = *std::move(taken);
  metrics_->PushReceived(opened->message.message_bytes);
  work_queue_->Schedule([held = held_pushes_, arrival, snapshots = snapshots_,
                         opened = *std::move(opened)]() mutable {
    HandlePush(std::move(opened), arrival, held, snapshots);
  });
}

void ServerCalls::GetPositions(const Caller& caller,
                               const grpc::ByteBuffer& request,
                               const CallPtr& call) {
  std::optional<SliceRequest> opened =
      OpenForAnswer(caller, request, call.get());
  if (!opened.has_value()) return;
  ++*num_asking_;
  if (stopped_) {
    --*num_asking_;
    call->Respond(snapshots_->StartAgain(kStopped));
    return;
  }
  work_queue_->Schedule([call, snapshots = snapshots_, num_asking = num_asking_,
                         opened = *std::move(opened)] {
    const SliceMessage& header = opened.message.header;
    opened.slice->GetPositions(
        header.worker().rank(), header.iteration(),
        [call, snapshots, num_asking,
         header](const absl::StatusOr<PayloadBuffer>& positions) {
          --*num_asking;
          if (!positions.ok()) {
            call->Respond(snapshots->Refused(positions.status()));
            return;
          }
          SliceMessage answer;
          answer.set_bucket(header.bucket());
          answer.set_slice(header.slice());
          answer.set_iteration(header.iteration());
          call->Respond(EncodeSliceMessage(answer, *positions));
        });
  });
}

}  // namespace ps
