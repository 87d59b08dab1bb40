// A unary RPC that is answered later, by any thread, exactly once.
#ifndef SERVER_HELD_CALL_H_
#define SERVER_HELD_CALL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"
#include "transport/grpc_status.h"

namespace ps {

// Keeps itself alive until gRPC is done with it, and longer while somebody
// holds a pointer to it. Answering a call that its client has cancelled does
// nothing.
class HeldCall final : public grpc::ServerUnaryReactor {
 public:
  // Called once, with the status of the answer.
  using Ended = std::function<void(absl::StatusCode code)>;

  // `response` is gRPC's; null for a call whose response stays empty.
  static std::shared_ptr<HeldCall> New(grpc::ByteBuffer* response,
                                       Ended ended) {
    auto call = std::make_shared<HeldCall>(response, std::move(ended));
    call->self_ = call;
    return call;
  }

  HeldCall(grpc::ByteBuffer* response, Ended ended)
      : response_(response), ended_(std::move(ended)) {
    // Whoever answers finds this and so sees the rest, for ThreadSanitizer,
    // too, which does not see gRPC's own locks.
    answered_.store(false);
  }

  // Keeps `claim` until gRPC is done with the call: until the answer is on its
  // way, or its client gone. For the handler only.
  void Keep(std::shared_ptr<const void> claim) {
    MutexLock lock(&mu_);
    claim_ = std::move(claim);
  }

  void Respond(const absl::Status& status) {
    if (answered_.exchange(true)) return;
    if (status.ok() && response_ != nullptr) {
      // A success must carry a message; an empty message is not the same as
      // none.
      const grpc::Slice empty;
      *response_ = grpc::ByteBuffer(&empty, 1);
    }
    ended_(status.code());
    Finish(ToGrpcStatus(status));
  }

  void Respond(grpc::ByteBuffer message) {
    // *response_ is valid until Finish, which only this thread can call now.
    if (answered_.exchange(true)) return;
    response_->Swap(&message);
    ended_(absl::StatusCode::kOk);
    Finish(grpc::Status::OK);
  }

  void OnCancel() override { Respond(absl::CancelledError("client left")); }

  void OnDone() override {
    Keep(nullptr);
    const std::shared_ptr<HeldCall> last = std::move(self_);
  }

 private:
  std::atomic<bool> answered_{false};
  grpc::ByteBuffer* const response_;
  const Ended ended_;
  std::shared_ptr<HeldCall> self_;
  // gRPC calls from one thread at a time, but ThreadSanitizer does not see
  // gRPC's own locks.
  Mutex mu_;
  std::shared_ptr<const void> claim_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_HELD_CALL_H_
