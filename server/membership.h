// Who takes part in the job: registered, attending, lost, finished.
#ifndef SERVER_MEMBERSHIP_H_
#define SERVER_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace ps {

struct MembershipOptions {
  int num_workers = 0;
  // As long as so many are left, among them worker 0, the job goes on when
  // others are lost. 0: nobody may be.
  int min_workers = 0;
  absl::Duration startup_timeout;
  absl::Duration lost_worker_timeout;
};

// Decides when the job is over: all workers that are left finished, one gave
// up, too many were lost for too long, or one never came. Thread-safe.
class Membership {
 public:
  explicit Membership(const MembershipOptions& options);

  // The same worker (rank and incarnation) may register again. Until it attends
  // it counts as lost. Errors:
  // kInvalidArgument for a rank outside the job; kAlreadyExists if another
  // incarnation has the rank; kFailedPrecondition if it is given up for lost.
  absl::Status Register(int rank, uint64_t incarnation,
                        const std::string& name);

  // Errors: kInvalidArgument as above.
  absl::Status CheckRank(int rank) const;

  // Errors: kInvalidArgument as above; kFailedPrecondition for a worker that
  // has not registered, another incarnation of it, or one that is given up for
  // lost.
  absl::Status Check(int rank, uint64_t incarnation) const;

  // The worker's connection stands, or broke. The latter is ignored for an
  // older connection than the one that stands (`connection` counts up).
  void Attend(int rank, int64_t connection);
  void Leave(int rank, int64_t connection);

  // The worker is done, or gives up with an error, which counts as lost.
  void Finish(int rank);
  void GiveUp(int rank, const std::string& failure);

  // Ends the job for another reason. The first reason stays.
  void Fail(const absl::Status& failure);

  // Ranks that have not registered, or are lost.
  std::vector<int> MissingRanks() const;

  // "worker 1 (host:4711)".
  std::string NameOf(int rank) const;

  // Blocks until the job is over. OK: every worker that is left has finished.
  // gone(rank): of one that has finished or is given up for lost.
  absl::Status WaitUntilOver(
      const std::function<void(int rank)>& gone = nullptr);

 private:
  struct Worker {
    bool registered = false;
    bool finished = false;
    bool given_up = false;   // Lost for too long, and the job goes on.
    bool announced = false;  // That it is gone.
    uint64_t incarnation = 0;
    std::string name;
    int64_t connection = 0;
    absl::Time lost_since = absl::InfiniteFuture();
  };

  std::string NameLocked(int rank) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AllFinished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckNotGivenUp(int rank) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Fails the job, with the advice, or goes on without the worker.
  void Lose(int rank, const std::string& what, const std::string& advice = "")
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those that are gone since the last call.
  std::vector<int> TakeGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Fails the job if somebody is overdue; else says when to look again.
  absl::Time CheckDeadlines(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const MembershipOptions options_;
  const absl::Time start_;

  mutable Mutex mu_;
  CondVar changed_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mu_);  // To be logged.
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);        // [num_workers]
};

}  // namespace ps

#endif  // SERVER_MEMBERSHIP_H_
