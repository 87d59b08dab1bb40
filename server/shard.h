// All slices that one server holds.
#ifndef SERVER_SHARD_H_
#define SERVER_SHARD_H_

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
#include "common/mutex.h"
#include "proto/config.pb.h"
#include "server/norms/server_squares.h"
#include "server/shard_layout.h"
#include "server/slices/weight_slice.h"
#include "server/timer.h"
#include "transport/shard_map.h"

namespace ps {

// Empty until the first worker says how large the model is. Thread-safe.
class Shard {
 public:
  // `config` is not owned and outlives the shard.
  // new_caller(address): makes what talks to server 0, for all others.
  using NewSquaresCaller =
      std::function<std::unique_ptr<SquaresCaller>(const std::string& address)>;
  // schedule(work): runs `work` soon, on some thread; null: at once.
  using ScheduleWork = std::function<void(std::function<void()> work)>;
  Shard(const JobConfig* config, int server_index,
        NewSquaresCaller new_caller = nullptr, ScheduleWork schedule = nullptr);

  // The first call makes the slices. Errors: kInvalidArgument for what
  // CheckLayout refuses; kFailedPrecondition if an earlier call said something
  // else. first_server: the address of server 0, if the config has none.
  absl::Status SetLayout(const ShardLayout& layout,
                         const std::string& first_server = "");

  // What a server must hold of each worker, in bytes of messages, to be able to
  // answer at all: the pushes of a whole iteration where the update needs norms
  // over all of them, or a worker may be ahead of a slice; else 0. After
  // SetLayout.
  int64_t bytes_held_at_least() const;

  // Ends what would call the work queue later: deadlines, and what the exchange
  // has under way with server 0. Before the queue ends.
  void Stop();

  // The servers' exchange of norms; lives as long as the shard. Errors:
  // kUnavailable before SetLayout.
  absl::StatusOr<ServerSquares*> squares() const;

  // The slice lives as long as the shard. Errors: kInvalidArgument if this
  // server has no such slice.
  absl::StatusOr<WeightSlice*> Find(int bucket, int slice) const;

  // This worker will push no more: no slice waits for it, now and from now on.
  void WorkerGone(int rank);

  // Answers everyone who waits for any slice.
  void Fail(const absl::Status& failure);

  // Of the slice of weights that has received the fewest updates; -1 before
  // weights came.
  int64_t version() const;

  // Ranks that this slice waits for; all of them between iterations.
  std::set<int> AwaitedRanks() const;

 private:
  WeightSlice* Slowest() const;
  std::vector<WeightSlice*> Slices() const;

  const JobConfig* const config_;  // Not owned.
  const int server_index_;
  const uint64_t config_fingerprint_;
  const NewSquaresCaller new_caller_;
  const ScheduleWork schedule_;

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  ShardLayout layout_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_held_at_least_ ABSL_GUARDED_BY(mu_) = 0;
  // By (bucket, slice); never removed.
  std::map<std::pair<int, int>, std::unique_ptr<WeightSlice>> slices_
      ABSL_GUARDED_BY(mu_);
  // Null before SetLayout. After the slices: its threads call them.
  std::unique_ptr<ServerSquares> squares_ ABSL_GUARDED_BY(mu_);
  // Of the slices; after them.
  Timer timer_;
};

}  // namespace ps

#endif  // SERVER_SHARD_H_
