// Lets the workers of a job meet: each calls, and all are answered when the
// last one has called.
#ifndef SERVER_RENDEZVOUS_H_
#define SERVER_RENDEZVOUS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/held_call.h"

namespace ps {

// Meetings are numbered; workers come to one after the other. Thread-safe.
class Rendezvous {
 public:
  // Calls meet(number) when all workers that are left have come. Its result is
  // the answer to all of them.
  using Meet = std::function<absl::StatusOr<grpc::ByteBuffer>(int64_t number)>;
  Rendezvous(int num_workers, Meet meet);

  // A worker comes. A repeat takes the place of its earlier call. Who comes to
  // the last meeting, or an earlier one, gets the answer of the last. May run
  // `meet`. Errors: kFailedPrecondition if others have come to another meeting;
  // all calls then wait for Fail.
  absl::Status Come(int rank, int64_t number, std::shared_ptr<HeldCall> call);

  // The last meeting was this one, with this answer.
  void Remember(int64_t number, const grpc::ByteBuffer& answer);

  // Nobody waits for this worker any more. May run `meet`.
  void WorkerGone(int rank);

  // This worker comes to meetings after number `number`.
  void WorkerJoins(int rank, int64_t number);
  // The same of a worker that joined an earlier process of this server; its own
  // call waits on. Returns false, and does nothing, if this process knows it.
  bool WorkerHasJoined(int rank, int64_t number);

  // Answers all calls with `failure`.
  void Fail(const absl::Status& failure);

 private:
  // Holds the meeting if it is due.
  void Advance();
  bool AllHere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the meeting under way, or one that cannot take place.
  void Answer(const absl::StatusOr<grpc::ByteBuffer>& answer);

  const int num_workers_;
  const Meet meet_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::set<int> gone_ ABSL_GUARDED_BY(mu_);
  std::map<int, int64_t> joined_ ABSL_GUARDED_BY(mu_);  // By rank.
  // By rank; to meeting next_.
  std::map<int, std::shared_ptr<HeldCall>> waiting_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  bool under_way_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<int64_t> last_ ABSL_GUARDED_BY(mu_);  // That has ended well.
  grpc::ByteBuffer answer_ ABSL_GUARDED_BY(mu_);      // Of that.
};

}  // namespace ps

#endif  // SERVER_RENDEZVOUS_H_
