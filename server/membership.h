// Tracks the job's workers: registered, attending, lost or finished.
#ifndef SERVER_MEMBERSHIP_H_
#define SERVER_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace ps {

struct MembershipOptions {
  int num_workers = 0;
  // The job continues after a loss as long as this many workers are left,
  // worker 0 among them. 0 means that no worker may be lost.
  int min_workers = 0;
  absl::Duration startup_timeout;
  absl::Duration lost_worker_timeout;
  // Whether the job continues when all its processes are restarted.
  bool keeps_snapshots = false;
  // Whether a lost worker may be restarted alone.
  bool workers_come_back = false;
  // Whether workers may join a running job (WorkersDrift): in place of one that
  // was lost or evicted, or after others began without them.
  bool workers_join = false;
};

// Decides when the job is over: every remaining worker has finished, a worker
// gave up, too many workers were lost for too long, or a worker never
// registered. Thread-safe.
class Membership {
 public:
  // `clock` is not owned.
  explicit Membership(const MembershipOptions& options,
                      const Clock* clock = SteadyClock());

  // Registers a worker; the same one (rank and incarnation) may register again.
  // Until it attends, it counts as lost. Another process of a worker that has
  // finished (HasFinished) has finished, too. Errors: kInvalidArgument for a
  // rank outside the job; kAlreadyExists if another incarnation has the rank
  // and is not lost or cannot be replaced; with keeps_snapshots it is
  // kUnavailable, and also ends this job if that one is lost, so that this
  // process is restarted, too; kFailedPrecondition if the worker has been
  // evicted, unless workers may join. Returns whether this one joins, which it
  // can once the job has begun: one that was evicted before gets kUnavailable
  // until then.
  absl::StatusOr<bool> Register(int rank, uint64_t incarnation,
                                const std::string& name, bool began = true);

  // Sets the cores of a registered worker, those of RegisterRequest; empty: it
  // shares with none. They come back by rank in
  // GetStatusResponse.first_sharers.
  void SetCores(int rank, const std::string& cores);
  std::vector<int> FirstSharers() const;

  // Restarts the startup_timeout of a worker that has tried to register and
  // will retry.
  void Await(int rank);

  // Checks the rank. Errors: kInvalidArgument for a rank outside the job.
  absl::Status CheckRank(int rank) const;

  // Checks the worker. Errors: kInvalidArgument for a rank outside the job;
  // kUnauthenticated for a worker that has not registered; kFailedPrecondition
  // for another incarnation of it, or for an evicted one.
  absl::Status Check(int rank, uint64_t incarnation) const;

  // The worker's connection is established (Attend) or broken (Leave).
  // `connection` counts up; Leave ignores a connection older than the latest.
  void Attend(int rank, int64_t connection);
  void Leave(int rank, int64_t connection);

  // Record that the worker is done (Finish), or gives up with an error, which
  // counts as a loss (GiveUp).
  void Finish(int rank);
  bool HasFinished(int rank) const;
  // Whether the worker has finished or was evicted.
  bool IsGone(int rank) const;
  void GiveUp(int rank, const std::string& failure);

  // Ends the job for another reason. The first reason stays.
  void Fail(const absl::Status& failure);

  // Returns the ranks of workers that have not registered or are lost.
  std::vector<int> MissingRanks() const;

  // Returns "worker 1 (host:4711)".
  std::string NameOf(int rank) const;

  // Blocks until the job is over. Returns OK if every remaining worker has
  // finished. Calls gone(rank) once for each worker that has finished or was
  // evicted.
  absl::Status WaitUntilOver(
      const std::function<void(int rank)>& gone = nullptr);

 private:
  struct Worker {
    bool registered = false;
    absl::Time came = absl::InfinitePast();  // The last time of Await.
    bool finished = false;
    bool given_up = false;   // Whether it was evicted: lost for too long.
    bool announced = false;  // Whether `gone` has been called.
    bool joined = false;     // Whether it joined a running job.
    uint64_t incarnation = 0;
    std::string name;
    std::string cores;
    int64_t connection = 0;
    absl::Time lost_since = absl::InfiniteFuture();
  };

  std::string NameLocked(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AllFinished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckNotGivenUp(int rank) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns why another incarnation of this worker, which registers, must wait.
  absl::Status MakeWay(int rank, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Continues without the worker if enough are left; otherwise fails the job,
  // with `advice` in the message and this code.
  void Lose(int rank, const std::string& what, const std::string& advice = "",
            absl::StatusCode code = absl::StatusCode::kAborted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the ranks of workers that are gone since the last call.
  std::vector<int> TakeGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Handles overdue workers. Returns the time of the next check.
  absl::Time CheckDeadlines(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const MembershipOptions options_;
  const Clock* const clock_;
  const absl::Time start_;

  mutable Mutex mu_;
  CondVar changed_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mu_);  // Lines to log.
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);        // [num_workers]
};

}  // namespace ps

#endif  // SERVER_MEMBERSHIP_H_
