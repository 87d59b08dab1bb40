#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/slices/admission.h"

namespace ps {
namespace {

class StaleAdmission final : public Admission {
 public:
  explicit StaleAdmission(const SliceOptions& options)
      : Admission(options),
        bounded_(options.config->consistency().mode() ==
                     ConsistencyConfig::STALE_SYNCHRONOUS &&
                 // No answer waits for statistics.
                 options.rule != UpdateRule::kMean),
        bound_(options.config->consistency().staleness()),
        workers_(num_workers()) {
    CountStarting();
  }

  absl::StatusOr<Arrival> Take(WorkerPush push) override {
    PS_RETURN_IF_ERROR(Check(push));
    Worker& worker = workers_[push.rank];
    if (push.iteration < worker.taken) return Arrival::kRepeat;
    worker.taken = push.iteration + 1;
    CountStarting();
    queue_.push_back(std::move(push));
    return Arrival::kKept;
  }

  void Pulls(int rank, int64_t) override {
    workers_[rank].pulled = true;
    CountStarting();
  }

  void WorkerGone(int rank) override {
    workers_[rank].gone = true;
    Counted();
  }

  int64_t JoinsAt(int rank) const override {
    int64_t slowest = std::numeric_limits<int64_t>::max();
    for (int other = 0; other < num_workers(); ++other) {
      if (other != rank && !workers_[other].gone) {
        slowest = std::min(slowest, Done(other));
      }
    }
    const bool alone = slowest == std::numeric_limits<int64_t>::max();
    // The worker may have been ahead of all others.
    return alone ? Done(rank) : std::max(slowest, Done(rank));
  }

  void Join(int rank, int64_t iterations) override {
    queue_.erase(std::remove_if(queue_.begin(), queue_.end(),
                                [rank](const WorkerPush& push) {
                                  return push.rank == rank;
                                }),
                 queue_.end());
    workers_[rank] = Worker();
    workers_[rank].joined = iterations;
    workers_[rank].pulled = true;
    Counted();
  }

  bool MayAnswer(int rank) const override {
    const int64_t taken = workers_[rank].taken;
    return Done(rank) == taken && (!bounded_ || slowest_ >= taken - bound_);
  }

  bool MayPull(int64_t iterations) const override {
    return !(bounded_ && num_starting_ > 0) && iterations <= slowest_;
  }

  std::set<int> AwaitedRanks() const override {
    std::set<int> ranks;
    for (int rank = 0; rank < num_workers(); ++rank) {
      if (!workers_[rank].gone && Done(rank) == slowest_) ranks.insert(rank);
    }
    return ranks;
  }

 private:
  struct Worker {
    int64_t joined = 0;   // Iterations made by others before it came.
    int64_t taken = 0;    // Iterations that it pushed or missed.
    bool pulled = false;  // Whether it asked for the initial weights.
    bool gone = false;
  };

  // Returns the iterations whose update is done, or that the worker missed.
  int64_t Done(int rank) const {
    return std::max(counted(rank) + 1, workers_[rank].joined);
  }

  absl::Status Check(const WorkerPush& push) const {
    if (workers_[push.rank].gone) {
      // Membership tells the worker so when it calls again.
      return absl::UnavailableError(absl::StrCat(
          "worker ", push.rank, " is gone, and the others go on without it"));
    }
    const int64_t taken = workers_[push.rank].taken;
    if (push.iteration != taken &&
        (taken == 0 || push.iteration != taken - 1)) {
      return absl::FailedPreconditionError(
          absl::StrCat("push for iteration ", push.iteration, " of worker ",
                       push.rank, ", which has done ", taken, " iterations"));
    }
    if (push.base_version < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker ", push.rank, " says that it holds version ",
                       push.base_version));
    }
    return absl::OkStatus();
  }

  std::optional<std::vector<WorkerPush>> Choose(absl::Time) override {
    if (queue_.empty()) return std::nullopt;
    std::vector<WorkerPush> pushes;
    pushes.push_back(std::move(queue_.front()));
    queue_.pop_front();
    return pushes;
  }

  void Counted() override {
    slowest_ = std::numeric_limits<int64_t>::max();
    for (int rank = 0; rank < num_workers(); ++rank) {
      int64_t& taken = workers_[rank].taken;
      taken = std::max(taken, Done(rank));
      if (!workers_[rank].gone) slowest_ = std::min(slowest_, Done(rank));
    }
    CountStarting();
  }

  void CountStarting() {
    num_starting_ = std::count_if(
        workers_.begin(), workers_.end(), [](const Worker& worker) {
          return !worker.gone && !worker.pulled && worker.taken == 0;
        });
  }

  // Whether a worker may be at most bound_ iterations ahead.
  const bool bounded_;
  const int64_t bound_;
  std::vector<Worker> workers_;
  std::deque<WorkerPush> queue_;
  // The number of iterations that every remaining worker has done.
  int64_t slowest_ = 0;
  // The number of workers that have asked for nothing yet.
  int64_t num_starting_ = 0;
};

}  // namespace

std::unique_ptr<Admission> NewStaleAdmission(const SliceOptions& options) {
  return std::make_unique<StaleAdmission>(options);
}

}  // namespace ps
