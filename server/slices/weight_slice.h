// The weights of one slice at its server: receives the workers' pushes and
// answers them when the job's consistency mode allows.
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
#include "transport/server_work.h"
#include "transport/slice_message.h"

namespace ps {

// The answer to a push or a pull. In synchronous mode every worker gets the
// same bytes.
struct WeightAnswer {
  int64_t version = 0;  // Updates that the weights have received.
  // The next three are over all workers: of this update or, if each push is an
  // update, the mean of the workers' last losses and the sums since the last
  // answer to this worker.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  DownlinkPayload weights;
  // The push came too late for its update and changed nothing.
  bool left_out = false;
  // Updates between the weights at which the gradient was computed and its own
  // update.
  int64_t staleness = 0;
  // The latest choice of worker 0.
  std::optional<bool> compress_next;
  // The time when the last required push arrived, and the work done after it.
  absl::Time complete = absl::InfinitePast();
  UpdatePhases phases;
};

// Called exactly once for every push, from whichever thread completes it.
using PushDone = std::function<void(const absl::StatusOr<WeightAnswer>&)>;

struct WorkerPush {
  int rank = 0;
  int64_t iteration = 0;
  double loss = 0;
  int64_t count = 0;          // Elements in the payload.
  bool dense = false;         // The payload has all elements.
  int64_t message_bytes = 0;  // Bytes on the wire.
  int64_t base_version = 0;   // The weights that the worker holds.
  // The digest of those weights (SliceWeights::Digest), if it is to be
  // compared.
  std::optional<uint64_t> weights_digest;
  // From worker 0: whether all workers compress this bucket in the next
  // iteration.
  std::optional<bool> compress_next;
  ReceivedPayload payload;  // Validated.
};

// Thread-safe. Initialize, Pull, Push and WorkerGone may take as long as an
// update, so gRPC's threads must not call them.
class WeightSlice {
 public:
  virtual ~WeightSlice() = default;

  virtual UpdateRule rule() const = 0;
  virtual int64_t num_elements() const = 0;

  // Sets the first weights: [num_elements], validated. A second call changes
  // nothing, and succeeds if the weights are the same. Errors:
  // kFailedPrecondition if they differ; those of making the optimizer.
  virtual absl::Status Initialize(const ReceivedPayload& payload) = 0;

  // Answers with all weights once every worker that is left has done this many
  // iterations. The calling worker itself will not push for these iterations
  // any more. A newer call of a worker supersedes one that waits, which gets
  // kCancelled. Errors, through `done`: kFailedPrecondition before Initialize;
  // kInvalidArgument for more iterations than the job has.
  virtual void Pull(int rank, int64_t iterations, PushDone done) = 0;

  // Takes one worker's push. A repeat counts once: if the first call has not
  // been answered, the repeat supersedes it and it gets kCancelled. Errors,
  // through `done`: kFailedPrecondition before Initialize, or for an iteration
  // that the worker cannot be in; kInvalidArgument for incomplete statistics,
  // or for a base_version that the worker cannot hold; kDataLoss if the digest
  // does not match, which fails the slice.
  virtual void Push(WorkerPush push, PushDone done) = 0;

  // This worker will not push any more; nobody waits for it from now on.
  virtual void WorkerGone(int rank) = 0;

  // Answers all waiting and all later calls with `failure`.
  virtual void Fail(const absl::Status& failure) = 0;

  // Updates that the weights have received; -1 before Initialize.
  virtual int64_t version() const = 0;

  // Ranks that others wait for, or would wait for if they were faster.
  virtual std::set<int> AwaitedRanks() const = 0;
};

// The error of Pull before Initialize.
absl::Status NotInitialized();
// The error of Pull for more iterations than the job has; OK otherwise.
absl::Status CheckPull(int64_t iterations, const SliceOptions& options);
// The result of a repeated Initialize, from the digests of the new weights and
// of the first ones.
absl::Status CheckFirstWeights(uint64_t digest, uint64_t first_digest);

// Makes the slice for the job's consistency mode. Allocates no memory in
// proportion to num_elements, which a peer chose; that happens with the first
// weights. `exchange` is used only if the update needs norms, `timer` only with
// consistency.step_timeout_seconds. Neither is owned; both must stay valid
// while the slice is in use.
std::unique_ptr<WeightSlice> NewWeightSlice(const SliceOptions& options,
                                            SquaresExchange* exchange = nullptr,
                                            Timer* timer = nullptr);

}  // namespace ps

#endif  // SERVER_SLICES_WEIGHT_SLICE_H_
