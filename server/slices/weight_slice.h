// The weights of one slice at its server: receives the workers' pushes and
// answers them when the job's consistency mode allows.
#ifndef SERVER_SLICES_WEIGHT_SLICE_H_
#define SERVER_SLICES_WEIGHT_SLICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "compressors/payload/payload_buffer.h"
#include "server/norms/squares_exchange.h"
#include "server/slices/admission.h"
#include "server/slices/replay.h"
#include "server/slices/serial_executor.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_positions.h"
#include "server/slices/slice_state.h"
#include "server/slices/update_log.h"
#include "server/slices/worker_push.h"
#include "server/timer.h"

namespace ps {

// Holds the callers, feeds an Admission with the calls, applies the updates
// that it chooses to a SliceState, and answers. All of this happens in a serial
// executor: a call may find its work done by another thread, or do that of
// others. Initialize, Pull, Push, GetPositions and WorkerGone may therefore
// take as long as several updates, and gRPC's threads must not call them.
// Thread-safe.
class WeightSlice {
 public:
  // Creates the slice. Allocates no memory in proportion to num_elements, which
  // a peer chose; that happens with the initial weights. `exchange` is used
  // only if the update needs norms, `timer` only with
  // consistency.step_timeout_seconds. `log` is the write-ahead log, if there is
  // one. None of the pointers is owned; all must stay valid while the slice is
  // in use.
  explicit WeightSlice(const SliceOptions& options,
                       SquaresExchange* exchange = nullptr,
                       Timer* timer = nullptr,
                       const Clock* clock = SteadyClock(),
                       UpdateLog* log = nullptr);
  ~WeightSlice();

  const std::string& name() const { return options_.name; }
  UpdateRule rule() const { return options_.rule; }
  int64_t num_elements() const { return options_.num_elements; }

  // Sets the initial weights: [num_elements], validated. A second call changes
  // nothing, and succeeds if the weights are the same. Errors, through `done`:
  // kFailedPrecondition if they differ; those of creating the optimizer. The
  // payload is released before `done` is called.
  void Initialize(ReceivedPayload payload,
                  std::function<void(const absl::Status&)> done);

  // Answers with all weights after this many iterations. In asynchronous modes,
  // these are the weights after every remaining worker has done as many; the
  // calling worker itself will not push for these iterations any more, and a
  // newer call of a worker supersedes one that waits, which gets kCancelled.
  // Errors, through `done`: kUnavailable before Initialize; kInvalidArgument
  // for more iterations than the job has; kFailedPrecondition in other modes,
  // if the slice, or the past of a restarted worker, is at another version.
  void Pull(int rank, int64_t iterations, PushDone done);

  // Takes one worker's push. A repeat counts once: if the first call has not
  // been answered, the repeat supersedes it and it gets kCancelled. Errors,
  // through `done`: kFailedPrecondition before Initialize, or for an iteration
  // that the worker cannot be in; kInvalidArgument for incomplete statistics,
  // or for a base_version that the worker cannot hold; kDataLoss if the digest
  // does not match, which fails the slice.
  void Push(WorkerPush push, PushDone done);

  // Answers with the positions of the leader of this iteration (PositionsOf in
  // compressors/payload/shared_positions.h), once it has pushed, if workers
  // share positions. Pushes of the others may lack positions, and are completed
  // then. A newer call of a worker supersedes one that waits, which gets
  // kCancelled. Errors, through `done`: kUnavailable before Initialize;
  // kInvalidArgument if positions are not shared, or for the leader itself;
  // kFailedPrecondition for an iteration that the worker cannot be in.
  //
  // If updates may drop workers, a leader that is lost, or has not pushed
  // consistency.step_timeout_seconds after the first call of another, is
  // replaced by the next worker: it gets an empty buffer, and its push must
  // have positions. So does a caller whose iteration is over and whose
  // positions are discarded.
  void GetPositions(int rank, int64_t iteration, PositionsDone done);

  // Returns the state as SliceState::Save does. Errors, through `done`:
  // kFailedPrecondition before the initial weights, or during an update.
  void Save(std::function<void(const absl::StatusOr<std::string>&)> done);

  // Restores a saved state or, without, the initial weights of `history`, and
  // replays the updates that followed. `history` must not be null. Errors,
  // through `done`: kFailedPrecondition if the slice has weights already;
  // kDataLoss for updates that do not fit; those of SliceState::Load and
  // Create.
  void Load(std::string saved, std::shared_ptr<const SliceHistory> history,
            std::function<void(const absl::Status&)> done);

  // Prepares for a worker that was restarted from an earlier state, that of
  // Load, from which `history` leads to the present one. Until it has caught
  // up, its pulls and pushes get the answers of then. In mode SYNCHRONOUS only.
  // Errors, through `done`: those of Load; later, through that of Push,
  // kFailedPrecondition for a push that differs from the one that was counted.
  void Rewind(int rank, std::string saved,
              std::shared_ptr<const SliceHistory> history,
              std::function<void(const absl::Status&)> done);

  // Removes a worker that will not push any more; nothing waits for it from now
  // on, unless the job's mode waits for all workers.
  void WorkerGone(int rank);

  // If workers may join (WorkersDrift): the pushes after which this one can,
  // and that it does so.
  int64_t JoinsAt(int rank) const;
  void Join(int rank, int64_t pushes);

  // Answers all waiting and all later calls with `failure`.
  void Fail(const absl::Status& failure);

  // The number of updates that the weights have received; -1 before Initialize.
  int64_t version() const;

  // The ranks that others wait for, or would wait for if they were faster.
  std::set<int> AwaitedRanks() const;

 private:
  // A call that gets all weights: a pull, or a push that came too late.
  struct Waiting {
    int rank = 0;
    int64_t iterations = 0;  // The iterations of a pull.
    bool dropped = false;    // Whether a push was dropped.
    PushDone done;
  };
  struct Worker {
    // The call of a push that was kept and not answered; otherwise null.
    PushDone done;
    int64_t base_version = 0;
    // The start and end of the update of its last push.
    absl::Time start;
    absl::Time end;
    // The past of a restarted worker that has not caught up; null otherwise.
    std::unique_ptr<WorkerPast> past;
  };

  // The events. All functions below run in the executor.
  absl::Status SetInitialWeights(const PayloadPieces& payload);
  absl::StatusOr<std::string> SaveNow() const;
  absl::Status LoadNow(const std::string& saved, const SliceHistory& history);
  absl::Status RewindNow(int rank, const std::string& saved,
                         std::shared_ptr<const SliceHistory> history);
  // Releases the past of a worker that has caught up.
  void ReleasePast(int rank);
  // Starts with a new state.
  void Begin();
  void HandlePull(Waiting pull);
  void HandlePush(WorkerPush push, PushDone done);
  void HandleTotals(const absl::StatusOr<SquaresTotals>& totals);
  void FailNow(const absl::Status& failure);

  // Returns OK if calls can be served now; else `not_yet` without weights.
  absl::Status CheckReady(absl::StatusCode not_yet) const;
  absl::StatusOr<Admission::Arrival> Admit(WorkerPush push);
  // Answers with all weights, before its update.
  void LeaveOut(WorkerPush push, PushDone done);
  // Makes the updates that are due.
  void Advance();
  // Applies record_ as far as possible.
  void Step();
  // Logs the news of the server-side codec.
  void LogNews() const;
  // Answer the calls that need not wait any longer: pushes that were counted,
  // and those that get all weights.
  void AnswerPushes();
  void AnswerWithAll();
  absl::StatusOr<WeightAnswer> AnswerTo(int rank, int64_t base_version);
  // Adds `call`, in place of an older one of the same worker.
  static void Replace(std::vector<Waiting>* calls, Waiting call,
                      const char* superseded);

  const SliceOptions options_;
  SquaresExchange* const exchange_;
  Timer* const timer_;
  const Clock* const clock_;
  UpdateLog* const log_;

  // The following members are used by events only.
  absl::Status failure_;
  std::unique_ptr<SliceState> state_;        // Null until Initialize.
  std::optional<UpdateRecord> record_;       // The current update.
  absl::Time start_ = absl::InfinitePast();  // The last update's begin.
  bool has_timer_ = false;
  const bool drift_;             // The result of WorkersDrift.
  std::vector<Worker> workers_;  // [num_workers]
  std::vector<Waiting> late_;
  std::vector<Waiting> pulls_;
  SlicePositions positions_;

  // Only events write the following members; the lock is for their readers.
  mutable Mutex mu_;
  std::unique_ptr<Admission> admission_ ABSL_GUARDED_BY(mu_);
  int64_t version_ ABSL_GUARDED_BY(mu_) = -1;

  SerialExecutor executor_;
};

}  // namespace ps

#endif  // SERVER_SLICES_WEIGHT_SLICE_H_
