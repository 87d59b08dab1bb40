#include "server/relay/aux_calls.h"

#include <memory>
#include <utility>

#include "common/status_macros.h"

namespace ps {

AuxCalls::AuxCalls(const AuxCallsOptions& options)
    : options_(options),
      relay_(options.limits.value_or(StageLimits()).num_workers,
             options.limits.value_or(StageLimits()).credit_bytes) {}

absl::StatusOr<ReceivedStageMessage> AuxCalls::Open(
    const Caller& caller, const grpc::ByteBuffer& bytes, Check check) const {
  PS_ASSIGN_OR_RETURN(ReceivedStageMessage message, DecodeStageMessage(bytes));
  PS_RETURN_IF_ERROR(
      options_.callers->CheckWorker(caller, message.header.worker()));
  if (!options_.limits.has_value()) {
    return absl::FailedPreconditionError(
        "the workers of this job do not train different stages "
        "(training.layer_parallel), and send each other nothing");
  }
  PS_RETURN_IF_ERROR(check(message, *options_.limits, options_.server_index));
  return message;
}

void AuxCalls::Put(const Caller& caller, const grpc::ByteBuffer& request,
                   const std::shared_ptr<HeldCall>& call) {
  absl::StatusOr<ReceivedStageMessage> put =
      Open(caller, request, CheckStagePut);
  if (!put.ok()) {
    call->Respond(put.status());
    return;
  }
  const RelayStream stream = {put->header.worker().rank(), put->header.peer(),
                              put->header.stream()};
  relay_.Put(stream, *std::move(put),
             [call](const absl::Status& status) { call->Respond(status); });
}

void AuxCalls::Get(const Caller& caller, const grpc::ByteBuffer& request,
                   const std::shared_ptr<HeldCall>& call) {
  const absl::StatusOr<ReceivedStageMessage> get =
      Open(caller, request, CheckStageGet);
  if (!get.ok()) {
    call->Respond(get.status());
    return;
  }
  const AuxMessage& header = get->header;
  relay_.Get(
      {header.peer(), header.worker().rank(), header.stream()},
      {header.number(), header.chunk()},
      [call](absl::StatusOr<std::shared_ptr<const ReceivedStageMessage>> put) {
        if (put.ok()) {
          call->Respond(EncodeStageAnswer(**put));
        } else {
          call->Respond(put.status());
        }
      });
}

}  // namespace ps
