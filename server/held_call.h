// A deferred call, which any thread answers later, exactly once.
#ifndef SERVER_HELD_CALL_H_
#define SERVER_HELD_CALL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace ps {

// The call, shared by the transport and threads that may answer. Thread-safe.
class HeldCall {
 public:
  // The transport's answer function, called once.
  using Answer = std::function<void(absl::StatusOr<grpc::ByteBuffer> answer)>;

  explicit HeldCall(Answer answer) : answer_(std::move(answer)) {
    // This publishes the object to the thread that answers, also for
    // ThreadSanitizer, which does not see gRPC's own locks.
    answered_.store(false);
  }

  // Keeps `claim` until the call is Done. Only the handler may call it.
  void Keep(std::shared_ptr<const void> claim) {
    MutexLock lock(&mu_);
    claim_ = std::move(claim);
  }

  // Answers the call. A success without a message is an empty one. All answers
  // after the first do nothing.
  void Respond(const absl::Status& status) {
    if (answered_.exchange(true)) return;
    if (!status.ok()) {
      answer_(status);
      return;
    }
    const grpc::Slice empty;
    answer_(grpc::ByteBuffer(&empty, 1));
  }

  void Respond(grpc::ByteBuffer message) {
    if (!answered_.exchange(true)) answer_(std::move(message));
  }

  // Called by the transport when the client has left.
  void Cancel() { Respond(absl::CancelledError("client left")); }
  // Called by the transport when the answer is sent, or the client gone.
  void Done() { Keep(nullptr); }

 private:
  std::atomic<bool> answered_{false};
  const Answer answer_;
  // The lock is for ThreadSanitizer: gRPC calls from one thread at a time, but
  // ThreadSanitizer does not see gRPC's own locks.
  Mutex mu_;
  std::shared_ptr<const void> claim_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_HELD_CALL_H_
