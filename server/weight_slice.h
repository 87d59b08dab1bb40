// The weights of one slice: gathers every worker's push of an iteration, sums
// them in rank order, updates the weights with the mean, or with what the
// majority voted for (optimizer.majority_vote), and answers.
#ifndef SERVER_WEIGHT_SLICE_H_
#define SERVER_WEIGHT_SLICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "compressors/payload_format.h"
#include "server/downlink.h"
#include "server/slice_options.h"
#include "server/slice_weights.h"
#include "server/squares_exchange.h"
#include "transport/slice_message.h"

namespace ps {

// The same bytes for every worker.
struct WeightAnswer {
  int64_t version = 0;  // Updates that the weights have received.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  DownlinkPayload weights;
  // When the last worker's push had come, and what was done then.
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
  ReceivedPayload payload;    // Validated.
};

// Thread-safe. Push and Pull may take as long as an update does: not for gRPC's
// threads.
class WeightSlice {
 public:
  // Allocates nothing by num_elements, which a peer chose: memory comes with
  // the first weights. `exchange` is not owned and outlives the slice; only
  // optimizers and clipping that need norms use it.
  explicit WeightSlice(const SliceOptions& options,
                       SquaresExchange* exchange = nullptr);

  UpdateRule rule() const { return options_.rule; }

  int64_t num_elements() const { return options_.num_elements; }

  // First weights: [num_elements], validated. A second call changes nothing and
  // succeeds if the weights are equal. Errors: kFailedPrecondition if they are
  // not; an optimizer that cannot be made.
  absl::Status Initialize(const ReceivedPayload& payload);

  // Errors: kFailedPrecondition before Initialize.
  absl::StatusOr<WeightAnswer> Pull() const;

  // Adds one worker's push. When it is the last of its iteration, updates the
  // weights and answers all. A repeat counts once: before the update it takes
  // the place of the earlier caller, who gets kCancelled; after it, it gets the
  // stored answer. Errors, through `done`: kFailedPrecondition before
  // Initialize, or for an iteration that is neither this nor the last one;
  // kInvalidArgument for statistics that are not all there.
  void Push(WorkerPush push, PushDone done);

  // Answers everyone who waits, now and from now on, with `failure`.
  void Fail(const absl::Status& failure);

  // -1 before Initialize.
  int64_t version() const;

  // Ranks whose push for the current version is missing.
  std::set<int> AwaitedRanks() const;

 private:
  struct Waiting {
    bool pushed = false;
    WorkerPush push;
    PushDone done;
  };

  // The weights' steps of one update; no two of them at a time.
  void BeginUpdate(std::vector<WorkerPush> pushes);
  void ContinueUpdate(const absl::StatusOr<SquaresTotals>& totals);
  // Runs `step`, then asks for the totals that it wants, or answers all.
  void Proceed(
      const std::function<absl::StatusOr<SliceWeights::Outcome>()>& step);
  std::vector<PushDone> TakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  SliceOptions options_;
  SquaresExchange* const exchange_;

  // Held while weights are read or written; taken before mu_.
  mutable Mutex weights_mu_;
  // Null until Initialize.
  std::unique_ptr<SliceWeights> weights_ ABSL_GUARDED_BY(weights_mu_);
  // Of the update under way.
  int stage_ ABSL_GUARDED_BY(weights_mu_) = 0;
  WeightAnswer next_ ABSL_GUARDED_BY(weights_mu_);

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  // From the last push of an iteration until its answers.
  bool updating_ ABSL_GUARDED_BY(mu_) = false;
  // Of the last update; without the payload while the next one is under way.
  WeightAnswer answer_ ABSL_GUARDED_BY(mu_);
  int num_pushed_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mu_);  // [num_workers]
};

}  // namespace ps

#endif  // SERVER_WEIGHT_SLICE_H_
