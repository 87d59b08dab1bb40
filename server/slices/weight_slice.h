// The weights of one slice at its server: takes the workers' pushes and answers
// them. The job's consistency mode says when.
#ifndef SERVER_SLICES_WEIGHT_SLICE_H_
#define SERVER_SLICES_WEIGHT_SLICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/norms/squares_exchange.h"
#include "server/slices/downlink.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_weights.h"
#include "server/timer.h"
#include "transport/slice_message.h"

namespace ps {

// In synchronous mode the same bytes for every worker.
struct WeightAnswer {
  int64_t version = 0;  // Updates that the weights have received.
  // Over all workers: of the update or, where each push is one, of what has
  // come since this worker's last answer, and the mean of their last losses.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  DownlinkPayload weights;
  // The push came too late for its update, and changed nothing.
  bool left_out = false;
  // Updates between the weights that the gradient was taken at and its own.
  int64_t staleness = 0;
  // What worker 0 last said.
  std::optional<bool> compress_next;
  // When nothing more was waited for, and what was done then.
  absl::Time complete = absl::InfinitePast();
  UpdatePhases phases;
};

// Called exactly once for every push, from whichever thread completes it.
using PushDone = std::function<void(const absl::StatusOr<WeightAnswer>&)>;

struct WorkerPush {
  int rank = 0;
  int64_t iteration = 0;
  double loss = 0;
  int64_t count = 0;          // Elements in the payload,
  bool dense = false;         // which has all there are.
  int64_t message_bytes = 0;  // On the wire.
  int64_t base_version = 0;   // Of the weights that the worker holds.
  // Of those weights (SliceWeights::Digest), where it is to be compared.
  std::optional<uint64_t> weights_digest;
  // Of worker 0: what all workers are to do next.
  std::optional<bool> compress_next;
  ReceivedPayload payload;  // Validated.
};

// Thread-safe. Initialize, Pull, Push and WorkerGone may take as long as an
// update does: not for gRPC's threads.
class WeightSlice {
 public:
  virtual ~WeightSlice() = default;

  virtual UpdateRule rule() const = 0;
  virtual int64_t num_elements() const = 0;

  // First weights: [num_elements], validated. A second call changes nothing and
  // succeeds if these are the same. Errors: kFailedPrecondition if they are
  // not; an optimizer that cannot be made.
  virtual absl::Status Initialize(const ReceivedPayload& payload) = 0;

  // All weights, once every worker that is left has done so many iterations;
  // this one itself will not push for them any more. A newer call of a worker
  // takes the place of one that waits, which gets kCancelled. Errors, through
  // `done`: kFailedPrecondition before Initialize; kInvalidArgument for more
  // than the job has.
  virtual void Pull(int rank, int64_t iterations, PushDone done) = 0;

  // One worker's push. A repeat counts once: if the first has not been answered
  // it takes the place of that caller, who gets kCancelled. Errors, through
  // `done`: kFailedPrecondition before Initialize, or for an iteration that
  // cannot be this worker's; kInvalidArgument for statistics that are not all
  // there, or for weights that it cannot hold; kDataLoss for a digest of other
  // weights, which fails the slice.
  virtual void Push(WorkerPush push, PushDone done) = 0;

  // This worker will push no more: nobody waits for it.
  virtual void WorkerGone(int rank) = 0;

  // Answers everyone who waits, now and from now on, with `failure`.
  virtual void Fail(const absl::Status& failure) = 0;

  // -1 before Initialize.
  virtual int64_t version() const = 0;

  // Ranks that others wait for, or would if they were quicker.
  virtual std::set<int> AwaitedRanks() const = 0;
};

// Of Pull before Initialize.
absl::Status NotInitialized();
// Of Pull for more iterations than there are.
absl::Status CheckPull(int64_t iterations, const SliceOptions& options);
// Of Initialize, when there are first weights: of these and of those.
absl::Status CheckFirstWeights(uint64_t digest, uint64_t first_digest);

// What the job's mode wants. Allocates nothing by num_elements, which a peer
// chose: memory comes with the first weights. exchange: only optimizers and
// clipping that need norms use it; timer: only consistency.step_timeout_seconds
// does. Neither is owned; both outlive the slice, but the timer, which is
// stopped before.
std::unique_ptr<WeightSlice> NewWeightSlice(const SliceOptions& options,
                                            SquaresExchange* exchange = nullptr,
                                            Timer* timer = nullptr);

}  // namespace ps

#endif  // SERVER_SLICES_WEIGHT_SLICE_H_
