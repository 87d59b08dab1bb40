// The service by which workers leave arrays for each other.
#ifndef SERVER_RELAY_AUX_SERVICE_H_
#define SERVER_RELAY_AUX_SERVICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/aux.grpc.pb.h"
#include "server/callers.h"
#include "server/held_call.h"
#include "server/relay/relay.h"
#include "transport/stage_message.h"

namespace ps {

struct AuxServiceOptions {
  // Of the job; none: its workers have no stages, and all calls are refused.
  std::optional<StageLimits> limits;
  int server_index = 0;
  const Callers* callers = nullptr;  // Not owned; outlives the service.
};

// Its messages never become protobuf objects as a whole.
using AuxServiceBase = Aux::WithRawCallbackMethod_Put<
    Aux::WithRawCallbackMethod_Get<Aux::Service>>;

// Thread-safe. Handlers do not block.
class AuxService final : public AuxServiceBase {
 public:
  explicit AuxService(const AuxServiceOptions& options);

  // Answers all calls that wait, now and later (Relay::End).
  void End(const absl::Status& status) { relay_.End(status); }

  // Relay::held_bytes of this worker.
  int64_t held_bytes(int rank) const { return relay_.held_bytes(rank); }

  grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;

 private:
  using Check = absl::Status (*)(const ReceivedStageMessage&,
                                 const StageLimits&, int server);

  // A message from a known worker that passes `check`.
  absl::StatusOr<ReceivedStageMessage> Open(
      const grpc::CallbackServerContext& context, const grpc::ByteBuffer& bytes,
      Check check) const;

  const AuxServiceOptions options_;
  Relay relay_;
};

}  // namespace ps

#endif  // SERVER_RELAY_AUX_SERVICE_H_
