// Holds all slices of one server.
#ifndef SERVER_SHARD_H_
#define SERVER_SHARD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/log_limit.h"
#include "common/mutex.h"
#include "proto/config.pb.h"
#include "server/limits/memory_bound.h"
#include "server/log/server_log.h"
#include "server/norms/server_squares.h"
#include "server/shard_layout.h"
#include "server/slices/weight_slice.h"
#include "server/timer.h"
#include "storage/process_snapshots.h"
#include "transport/shard_map.h"

namespace ps {

// The slices; none until the first worker sends the layout. Thread-safe.
class Shard {
 public:
  // `config` is not owned and must outlive the shard. new_caller(address)
  // creates the connection to server 0, for all other servers.
  using NewSquaresCaller =
      std::function<std::unique_ptr<SquaresCaller>(const std::string& address)>;
  // schedule(work) runs `work` soon, on some thread; if it is null, work runs
  // at once. asked_to_stop: see SliceOptions::stop. log: the write-ahead log;
  // may be null. These and `clock` are not owned.
  using ScheduleWork = std::function<void(std::function<void()> work)>;
  Shard(const JobConfig* config, int server_index,
        NewSquaresCaller new_caller = nullptr, ScheduleWork schedule = nullptr,
        const Clock* clock = SteadyClock(),
        const std::atomic<bool>* asked_to_stop = nullptr,
        ServerLog* log = nullptr);

  // Sets the layout; the first call creates the slices. Errors:
  // kInvalidArgument for a layout that CheckLayout refuses or for which the
  // machine has too little memory; kFailedPrecondition for one that differs
  // from the first call's.
  absl::Status SetLayout(const ShardLayout& layout);
  // Checks the layout of all but worker 0, whose layout alone counts. Errors:
  // kUnavailable before SetLayout; kFailedPrecondition for another layout.
  absl::Status CheckSameLayout(const ShardLayout& layout) const;

  // The layout, and the share of the model that this server holds. Valid after
  // SetLayout.
  ShardLayout layout() const;
  ServerPart part() const;

  // Returns the states of all slices, by "slice-BUCKET-INDEX". Errors: those of
  // WeightSlice::Save, with the slice's name.
  absl::StatusOr<SnapshotParts> Save();

  // Restores what Save returned, in place of initial weights, and replays the
  // logged updates. Without a saved state, the log has the initial weights, and
  // slices that it lacks stay without. `logged` must not be null. Errors:
  // kDataLoss if it is not that of these slices; those of WeightSlice::Load.
  absl::Status Load(SnapshotParts saved,
                    const std::shared_ptr<const LoggedJob>& logged =
                        std::make_shared<LoggedJob>());

  // Rewinds the server for a worker that was restarted from an earlier state:
  // `saved` is what Save returned then, and the log after it is kept until the
  // worker has caught up. Errors: kDataLoss as for Load; those of
  // WeightSlice::Rewind.
  absl::Status Rewind(int rank, SnapshotParts saved,
                      const std::shared_ptr<const LoggedJob>& logged);

  // Ends everything that could still schedule work: timers, and the exchange of
  // norms with server 0. Must be called before the work queue is destroyed.
  void Stop();

  // Returns the exchange of norms between servers; it lives as long as the
  // shard. Errors: kUnavailable before SetLayout.
  absl::StatusOr<ServerSquares*> squares() const;

  // Returns the slice, which lives as long as the shard. Errors:
  // kInvalidArgument if this server has no such slice.
  absl::StatusOr<WeightSlice*> Find(int bucket, int slice) const;

  // Removes a worker that will not push any more; no slice waits for it.
  void WorkerGone(int rank);

  // Returns the number of pushes after which a lost or late worker can join:
  // about those that the slowest of the others has made, or this one itself.
  int64_t JoinsAt(int rank) const;
  // Lets the worker join after this many pushes, and averagings of statistics;
  // it will make all later ones.
  void Join(int rank, int64_t pushes, int64_t averagings);

  // Answers all calls that wait for any slice with `failure`.
  void Fail(const absl::Status& failure);

  // The number of updates of the slice of weights that has received the fewest;
  // -1 before the initial weights arrive.
  int64_t version() const;

  // The ranks that the same slice waits for; between iterations these are all
  // ranks.
  std::set<int> AwaitedRanks() const;

 private:
  using DoneLoading = std::function<void(const absl::Status&)>;
  // Passes each slice its history, all at the same time, and waits for them.
  absl::Status ForEachHistory(
      SnapshotParts saved, const std::shared_ptr<const LoggedJob>& logged,
      const std::function<void(WeightSlice* slice, std::string saved,
                               std::shared_ptr<const SliceHistory> history,
                               DoneLoading done)>& load);
  absl::Status SameLayout(const ShardLayout& layout) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  WeightSlice* Slowest() const;
  std::vector<WeightSlice*> Slices() const;
  std::map<std::string, WeightSlice*> SlicesByName() const;

  const JobConfig* const config_;  // Not owned.
  const int server_index_;
  const uint64_t config_fingerprint_;
  const NewSquaresCaller new_caller_;
  const ScheduleWork schedule_;
  const Clock* const clock_;
  const std::atomic<bool>* const asked_to_stop_;
  ServerLog* const log_;
  LogLimit about_pushes_;

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  ShardLayout layout_ ABSL_GUARDED_BY(mu_);
  ServerPart part_ ABSL_GUARDED_BY(mu_);
  // The slices by (bucket, slice); never removed.
  std::map<std::pair<int, int>, std::unique_ptr<WeightSlice>> slices_
      ABSL_GUARDED_BY(mu_);
  // Null before SetLayout. Declared after the slices because its threads call
  // them.
  std::unique_ptr<ServerSquares> squares_ ABSL_GUARDED_BY(mu_);
  // The slices use it; declared after them because it calls them.
  Timer timer_;
};

}  // namespace ps

#endif  // SERVER_SHARD_H_
