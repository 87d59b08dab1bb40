// Handles the calls by which workers leave arrays for each other.
#ifndef SERVER_RELAY_AUX_CALLS_H_
#define SERVER_RELAY_AUX_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/callers.h"
#include "server/held_call.h"
#include "server/relay/relay.h"
#include "transport/stage_message.h"

namespace ps {

struct AuxCallsOptions {
  // The limits; nullopt: workers have no stages, and all calls are refused.
  std::optional<StageLimits> limits;
  int server_index = 0;
  const Callers* callers = nullptr;  // Not owned; outlives the calls.
};

// The handlers. Messages are never parsed into protobuf objects as a whole.
// Thread-safe. Handlers do not block.
class AuxCalls {
 public:
  explicit AuxCalls(const AuxCallsOptions& options);

  // Answers all waiting and all later calls (Relay::End).
  void End(const absl::Status& status) { relay_.End(status); }

  // The bytes of Relay::held_bytes for this worker.
  int64_t held_bytes(int rank) const { return relay_.held_bytes(rank); }

  void Put(const Caller& caller, const grpc::ByteBuffer& request,
           const std::shared_ptr<HeldCall>& call);
  void Get(const Caller& caller, const grpc::ByteBuffer& request,
           const std::shared_ptr<HeldCall>& call);

 private:
  using Check = absl::Status (*)(const ReceivedStageMessage&,
                                 const StageLimits&, int server);

  // Decodes a message from a known worker that passes `check`.
  absl::StatusOr<ReceivedStageMessage> Open(const Caller& caller,
                                            const grpc::ByteBuffer& bytes,
                                            Check check) const;

  const AuxCallsOptions options_;
  Relay relay_;
};

}  // namespace ps

#endif  // SERVER_RELAY_AUX_CALLS_H_
