// Which pushes make the next update of a slice, and who waits for it: the
// consistency modes.
#ifndef SERVER_SLICES_ADMISSION_H_
#define SERVER_SLICES_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_state.h"
#include "server/slices/worker_push.h"

namespace ps {

// Keeps pushes until their update. Depends on the calls and on the times that
// it is given only, so the same calls give the same updates. Not thread-safe.
class Admission {
 public:
  // What becomes of a push.
  enum class Arrival {
    kKept,     // It waits for its update.
    kRepeat,   // It was kept before; this call gets its answer, if MayAnswer.
    kStored,   // It was part of the last update, whose answer is its answer.
    kLate,     // It was part of an update; the worker needs all weights.
    kLeftOut,  // Its update goes on without it; the worker needs all weights.
  };

  virtual ~Admission() = default;

  // Releases the push unless it is kept. Errors: kFailedPrecondition for an
  // iteration that the worker cannot be in; kInvalidArgument for a base_version
  // that it cannot hold.
  virtual absl::StatusOr<Arrival> Take(WorkerPush push) = 0;

  // The worker waits for the weights after this many iterations.
  virtual void Pulls(int /*rank*/, int64_t /*iterations*/) {}

  // The worker will not push any more.
  virtual void WorkerGone(int /*rank*/) {}

  // Where workers drift: the iterations after which a worker can join that was
  // lost, or comes late; and that it does so, and will push for all later ones.
  // What an earlier process of it has pushed, and is in no update, is released.
  virtual int64_t JoinsAt(int /*rank*/) const { return version(); }
  virtual void Join(int /*rank*/, int64_t /*iterations*/) {}

  // The pushes of the next update, in the order in which they are added, or
  // nullopt if it must wait, for pushes or for the update under way. The update
  // is under way until Applied.
  std::optional<std::vector<WorkerPush>> Next(absl::Time now);

  // When Next will no longer wait for everyone.
  virtual absl::Time Deadline() const { return absl::InfiniteFuture(); }

  // The update has been made; or the state has just been created or restored.
  void Applied(const SliceProgress& progress);

  // Whether the answer to the worker's last push, which was kept, need not wait
  // any longer.
  virtual bool MayAnswer(int rank) const = 0;

  // Whether a worker may have the weights after this many iterations.
  virtual bool MayPull(int64_t iterations) const {
    return iterations <= version();
  }

  // Ranks that others wait for, or would wait for if they were faster.
  virtual std::set<int> AwaitedRanks() const = 0;

 protected:
  explicit Admission(const SliceOptions& options);

  int num_workers() const { return static_cast<int>(progress_.counted.size()); }
  int64_t version() const { return progress_.version; }
  int64_t counted(int rank) const { return progress_.counted[rank]; }
  bool under_way() const { return under_way_; }

  // The error for a push whose iteration does not fit version().
  absl::Status OutOfOrder(const WorkerPush& push) const;

  const SliceOptions& options() const { return options_; }

 private:
  virtual std::optional<std::vector<WorkerPush>> Choose(absl::Time now) = 0;
  // progress has changed.
  virtual void Counted() = 0;

  const SliceOptions options_;
  SliceProgress progress_;
  bool under_way_ = false;
};

// Waits for the pushes of all workers (SYNCHRONOUS).
std::unique_ptr<Admission> NewStrictAdmission(const SliceOptions& options);

// Goes on with consistency.min_workers pushes after step_timeout_seconds. A
// worker whose push comes later gets all weights at once and continues from
// there. It may thus be an iteration ahead of another slice that still waits;
// that slice then keeps its push.
std::unique_ptr<Admission> NewTimedAdmission(const SliceOptions& options);

// Each push is an update, in order of arrival: stale synchronous parallel (Ho
// et al., NIPS 2013) and asynchronous jobs. The answer to a worker's iteration
// t waits until every worker that is left has done t + 1 - staleness iterations
// (an asynchronous job does not wait). In a stale synchronous job, the answers
// to the first pulls wait until all workers have asked; otherwise a worker that
// starts late would get other weights. With staleness 0 all gradients are
// therefore computed at the same weights. For statistics no answer waits.
std::unique_ptr<Admission> NewStaleAdmission(const SliceOptions& options);

// The one for the job's consistency mode.
std::unique_ptr<Admission> NewAdmission(const SliceOptions& options);

}  // namespace ps

#endif  // SERVER_SLICES_ADMISSION_H_
