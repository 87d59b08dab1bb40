// Implements the consistency modes: which pushes make the next update of a
// slice, and which calls wait for it.
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

// Keeps pushes until their update. Depends only on the calls and on their
// times, so the same calls give the same updates. Not thread-safe.
class Admission {
 public:
  // The decision on a push.
  enum class Arrival {
    kKept,     // The push waits for its update.
    kRepeat,   // A repeat of a kept push; gets its answer, if MayAnswer.
    kStored,   // The push was part of the last update, which has its answer.
    kLate,     // The push was part of an update; the worker needs all weights.
    kDropped,  // The push came too late; the worker needs all weights.
  };

  virtual ~Admission() = default;

  // Decides on a push. Releases it unless it is kept. Errors:
  // kFailedPrecondition for an iteration that the worker cannot be in;
  // kInvalidArgument for a base_version that it cannot hold.
  virtual absl::StatusOr<Arrival> Take(WorkerPush push) = 0;

  // Records that the worker waits for the weights after this many iterations.
  virtual void Pulls(int /*rank*/, int64_t /*iterations*/) {}

  // Records that the worker will not push any more.
  virtual void WorkerGone(int /*rank*/) {}

  // Returns why the next update can never be made, if a push waits for it in
  // vain, or one of the workers that `ask` for its positions: these will push
  // when they know them. Errors: kFailedPrecondition that names the workers.
  virtual absl::Status Hopeless(const std::set<int>& /*ask*/) const {
    return absl::OkStatus();
  }

  // Used if workers may join (asynchronous modes): the iterations after which a
  // lost or late worker can join; and that it does so, and will push for all
  // later ones. Pushes of its earlier process that are in no update are
  // released.
  virtual int64_t JoinsAt(int /*rank*/) const { return version(); }
  virtual void Join(int /*rank*/, int64_t /*iterations*/) {}

  // Returns the pushes of the next update, in the order in which they are
  // added, or nullopt if it must wait, for pushes or for the current update.
  // The update is current until Applied.
  std::optional<std::vector<WorkerPush>> Next(absl::Time now);

  // The time when Next will no longer wait for all workers.
  virtual absl::Time Deadline() const { return absl::InfiniteFuture(); }

  // Records that the update has been made, or the state created or restored.
  void Applied(const SliceProgress& progress);

  // Whether the answer to the worker's last push, which was kept, need not wait
  // any longer.
  virtual bool MayAnswer(int rank) const = 0;

  // Whether a worker may have the weights after this many iterations.
  virtual bool MayPull(int64_t iterations) const {
    return iterations <= version();
  }

  // The ranks that others wait for, or would wait for if they were faster.
  virtual std::set<int> AwaitedRanks() const = 0;

 protected:
  explicit Admission(const SliceOptions& options);

  int num_workers() const { return static_cast<int>(progress_.counted.size()); }
  int64_t version() const { return progress_.version; }
  int64_t counted(int rank) const { return progress_.counted[rank]; }
  bool under_way() const { return under_way_; }

  // Returns the error for a push whose iteration does not fit version().
  absl::Status OutOfOrder(const WorkerPush& push) const;

  const SliceOptions& options() const { return options_; }

 private:
  virtual std::optional<std::vector<WorkerPush>> Choose(absl::Time now) = 0;
  // Called when progress has changed.
  virtual void Counted() = 0;

  const SliceOptions options_;
  SliceProgress progress_;
  bool under_way_ = false;
};

// Creates the mode SYNCHRONOUS, which waits for the pushes of all workers.
std::unique_ptr<Admission> NewStrictAdmission(const SliceOptions& options);

// Creates the mode that continues with consistency.min_workers pushes after
// step_timeout_seconds. A worker whose push comes later gets all weights at
// once and continues from there. It may thus be an iteration ahead of another
// slice that still waits; that slice then keeps its push.
std::unique_ptr<Admission> NewTimedAdmission(const SliceOptions& options);

// Creates the modes in which each push is an update, in order of arrival: stale
// synchronous parallel (Ho et al., NIPS 2013) and asynchronous jobs. The answer
// to a worker's iteration t waits until every remaining worker has done t + 1 -
// staleness iterations (an asynchronous job does not wait). In a stale
// synchronous job, the answers to the first pulls wait until all workers have
// asked; otherwise a worker that starts late would get other weights. With
// staleness 0 all gradients are therefore computed at the same weights. For
// statistics no answer waits.
std::unique_ptr<Admission> NewStaleAdmission(const SliceOptions& options);

// Creates the one for the job's consistency mode.
std::unique_ptr<Admission> NewAdmission(const SliceOptions& options);

}  // namespace ps

#endif  // SERVER_SLICES_ADMISSION_H_
