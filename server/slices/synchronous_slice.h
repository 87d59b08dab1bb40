// A slice whose updates are the mean of all workers' pushes of an iteration, or
// what the majority voted for (optimizer.majority_vote).
#ifndef SERVER_SLICES_SYNCHRONOUS_SLICE_H_
#define SERVER_SLICES_SYNCHRONOUS_SLICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/norms/squares_exchange.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_weights.h"
#include "server/slices/weight_slice.h"
#include "server/timer.h"

namespace ps {

// When all workers' pushes of an iteration have arrived, adds them up in rank
// order, updates the weights and answers all workers with the same bytes. With
// consistency.step_timeout_seconds an update may proceed with min_workers
// pushes. A worker whose push comes later gets all weights at once and
// continues from there. It may thus be an iteration ahead of another slice that
// still waits; that slice then keeps its push.
class SynchronousSlice final : public WeightSlice {
 public:
  SynchronousSlice(const SliceOptions& options, SquaresExchange* exchange,
                   Timer* timer);

  UpdateRule rule() const override { return options_.rule; }
  int64_t num_elements() const override { return options_.num_elements; }
  absl::Status Initialize(const ReceivedPayload& payload) override;
  void Pull(int rank, int64_t iterations, PushDone done) override;
  void Push(WorkerPush push, PushDone done) override;
  void WorkerGone(int rank) override;
  void Fail(const absl::Status& failure) override;
  int64_t version() const override;
  std::set<int> AwaitedRanks() const override;

 private:
  // The state of one worker.
  struct Worker {
    bool pushed = false;  // There is a push for this update or for a later one.
    WorkerPush push;
    PushDone done;
    int64_t counted = -1;  // Last iteration that was part of an update.
    // The worker will not push for updates before this one.
    int64_t next = 0;
  };
  struct WaitingPull {
    int rank = 0;
    int64_t iterations = 0;
    PushDone done;
  };
  struct LatePush {
    int rank = 0;
    bool left_out = false;  // Otherwise it is a repeat.
    PushDone done;
  };

  // Checks that the push is valid in the slice's current state.
  absl::Status Check(const WorkerPush& push) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the push's update is over, or under way without it.
  bool IsLate(const WorkerPush& push) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Keeps the push; returns the callback of an earlier one that it supersedes.
  PushDone Keep(WorkerPush push, PushDone done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PushDone KeepLate(const WorkerPush& push, PushDone done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Counts the workers that have pushed for the next update and those awaited.
  void CountPushes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts the timer if there is a push for the next update and no timer runs.
  void SetTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Complete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The time at which the next update stops waiting.
  absl::Time Deadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Called by the timer, which may have been set for an earlier update.
  void TimeUp();
  // Answers pulls and late pushes that need not wait any longer.
  void AnswerWithAll();
  // Begins the next update if it is complete.
  void MaybeUpdate();

  // The steps of an update; only one of them runs at a time.
  void BeginUpdate(int64_t version, std::vector<WorkerPush> pushes);
  void ContinueUpdate(const absl::StatusOr<SquaresTotals>& totals);
  // Runs `step`, then either requests the totals that it needs or answers all
  // workers.
  void Proceed(
      const std::function<absl::StatusOr<SliceWeights::Outcome>()>& step);
  absl::Status CheckDigests(const std::vector<WorkerPush>& pushes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(weights_mu_);
  std::vector<PushDone> TakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  SliceOptions options_;
  SquaresExchange* const exchange_;
  Timer* const timer_;
  const bool may_leave_out_;

  // Held while weights are read or written; taken before mu_.
  mutable Mutex weights_mu_;
  // Null until Initialize.
  std::unique_ptr<SliceWeights> weights_ ABSL_GUARDED_BY(weights_mu_);
  // State of the update under way.
  int stage_ ABSL_GUARDED_BY(weights_mu_) = 0;
  WeightAnswer next_ ABSL_GUARDED_BY(weights_mu_);

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  // The digest of the first weights.
  uint64_t first_digest_ ABSL_GUARDED_BY(mu_) = 0;
  // An update is under way: from the last push until the answers.
  bool updating_ ABSL_GUARDED_BY(mu_) = false;
  // The answer of the last update; without payload while the next one is under
  // way.
  WeightAnswer answer_ ABSL_GUARDED_BY(mu_);
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);  // [num_workers]
  // For the next update: the number of pushes, and of workers that have pushed
  // neither for it nor for a later one.
  int num_pushed_ ABSL_GUARDED_BY(mu_) = 0;
  int num_awaited_ ABSL_GUARDED_BY(mu_) = 0;
  bool time_up_ ABSL_GUARDED_BY(mu_) = false;
  bool has_timer_ ABSL_GUARDED_BY(mu_) = false;
  // Arrival of the first push for the next update; set only if updates may time
  // out.
  absl::Time first_push_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::vector<LatePush> late_ ABSL_GUARDED_BY(mu_);
  std::vector<WaitingPull> pulls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_SLICES_SYNCHRONOUS_SLICE_H_
