// A barrier for the workers of a job: each arrives by a call, and all calls are
// answered when the last worker has arrived.
#ifndef SERVER_BARRIER_H_
#define SERVER_BARRIER_H_

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

// The barrier. Its generations are numbered, and workers pass them in order.
// Thread-safe.
class Barrier {
 public:
  // Called with the number of a generation when all remaining workers have
  // arrived. The result is the answer to all of them.
  using Release = std::function<absl::StatusOr<grpc::ByteBuffer>(int64_t)>;
  Barrier(int num_workers, Release release);

  // A worker arrives. A repeat supersedes its earlier call. A worker that
  // arrives at the last generation again, or at an earlier one, gets the answer
  // of the last. May run `release`. Errors: kFailedPrecondition if others have
  // arrived at another generation; all calls then wait for Fail.
  absl::Status Arrive(int rank, int64_t number, std::shared_ptr<HeldCall> call);

  // Sets the last completed generation, and its answer.
  void Remember(int64_t number, const grpc::ByteBuffer& answer);

  // Stops waiting for this worker. May run `release`.
  void WorkerGone(int rank);

  // Expects this worker at generations after `number`.
  void WorkerJoins(int rank, int64_t number);
  // Like WorkerJoins, for one that joined an earlier process of this server;
  // its own call keeps waiting. Returns false, and does nothing, if it is
  // known.
  bool WorkerHasJoined(int rank, int64_t number);

  // Answers all calls with `failure`.
  void Fail(const absl::Status& failure);

 private:
  // Releases all workers if they have arrived.
  void Advance();
  bool AllArrived() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Answers the current generation, or one that cannot be completed.
  void Answer(const absl::StatusOr<grpc::ByteBuffer>& answer);

  const int num_workers_;
  const Release release_;

  Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::set<int> gone_ ABSL_GUARDED_BY(mu_);
  // The generation after which each worker joined, by rank.
  std::map<int, int64_t> joined_ ABSL_GUARDED_BY(mu_);
  // The calls of generation next_, by rank.
  std::map<int, std::shared_ptr<HeldCall>> waiting_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  bool under_way_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<int64_t> last_ ABSL_GUARDED_BY(mu_);  // The last success.
  grpc::ByteBuffer answer_ ABSL_GUARDED_BY(mu_);      // Its answer.
};

}  // namespace ps

#endif  // SERVER_BARRIER_H_
