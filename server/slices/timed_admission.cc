#include <algorithm>
#include <limits>
#include <utility>

#include "common/consistency.h"
#include "server/slices/admission.h"

namespace ps {
namespace {

class TimedAdmission final : public Admission {
 public:
  explicit TimedAdmission(const SliceOptions& options)
      : Admission(options),
        min_workers_(MinWorkers(*options.config)),
        timeout_(absl::Seconds(
            options.config->consistency().step_timeout_seconds())),
        workers_(num_workers()) {
    CountPushes();
  }

  absl::StatusOr<Arrival> Take(WorkerPush push) override {
    if (push.iteration < 0 || push.iteration >= options().total_updates) {
      return OutOfOrder(push);
    }
    Worker& mine = workers_[push.rank];
    if (push.iteration < version() ||
        (under_way() && push.iteration == version() && !mine.pushed)) {
      if (counted(push.rank) < push.iteration) return Arrival::kDropped;
      const bool stored = !under_way() && push.iteration == version() - 1 &&
                          counted(push.rank) == push.iteration &&
                          push.base_version == push.iteration;
      return stored ? Arrival::kStored : Arrival::kLate;
    }
    // The first push is kept because it may be in use.
    if (mine.pushed) return Arrival::kRepeat;
    num_awaited_ -= Awaited(mine);
    mine.pushed = true;
    mine.push = std::move(push);
    num_pushed_ += HasPushed(mine);
    return Arrival::kKept;
  }

  void Pulls(int rank, int64_t iterations) override {
    // A worker that waits for these weights will not push for earlier updates.
    workers_[rank].pulls = iterations;
    Skip(rank, iterations);
  }

  void WorkerGone(int rank) override {
    Skip(rank, std::numeric_limits<int64_t>::max());
  }

  void Join(int rank, int64_t iterations) override {
    Worker& worker = workers_[rank];
    worker.next = iterations;
    worker.pulls = 0;
    if (!(under_way() && HasPushed(worker))) {
      worker.pushed = false;
      worker.push = WorkerPush();
    }
    CountPushes();
  }

  absl::Time Deadline() const override { return first_push_ + timeout_; }

  bool MayAnswer(int rank) const override { return !workers_[rank].pushed; }

  std::set<int> AwaitedRanks() const override {
    std::set<int> ranks;
    for (int rank = 0; rank < num_workers(); ++rank) {
      if (Awaited(workers_[rank])) ranks.insert(rank);
    }
    return ranks;
  }

 private:
  struct Worker {
    bool pushed = false;  // Whether this or a later update has its push.
    WorkerPush push;
    int64_t next = 0;   // The first update for which it may still push.
    int64_t pulls = 0;  // The iterations of its last pull.
  };

  void Skip(int rank, int64_t iterations) {
    int64_t& next = workers_[rank].next;
    next = std::max(next, iterations);
    CountPushes();
  }

  bool Awaited(const Worker& worker) const {
    return !worker.pushed && worker.next <= version();
  }

  bool HasPushed(const Worker& worker) const {
    return worker.pushed && worker.push.iteration == version();
  }

  void CountPushes() {
    num_pushed_ = 0;
    num_awaited_ = 0;
    for (const Worker& worker : workers_) {
      num_pushed_ += HasPushed(worker);
      num_awaited_ += Awaited(worker);
    }
  }

  // Whether some worker waits for a later update.
  bool IsNeeded() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [this](const Worker& worker) {
                         return worker.pushed || worker.pulls > version();
                       });
  }

  std::optional<std::vector<WorkerPush>> Choose(absl::Time now) override {
    if (num_pushed_ > 0) first_push_ = std::min(first_push_, now);
    if (num_awaited_ > 0) {
      if (now < Deadline() || num_pushed_ < min_workers_) return std::nullopt;
    } else if (!IsNeeded()) {
      return std::nullopt;
    }
    std::vector<WorkerPush> pushes;
    // Rank order makes every run add in the same order.
    for (Worker& worker : workers_) {
      if (HasPushed(worker)) pushes.push_back(std::move(worker.push));
    }
    return pushes;
  }

  void Counted() override {
    for (Worker& worker : workers_) {
      if (worker.pushed && worker.push.iteration < version()) {
        worker.pushed = false;
      }
    }
    first_push_ = absl::InfiniteFuture();
    CountPushes();
  }

  const int min_workers_;
  const absl::Duration timeout_;
  std::vector<Worker> workers_;
  // For the next update: the number of pushes, and of workers that have pushed
  // neither for it nor for a later one.
  int num_pushed_ = 0;
  int num_awaited_ = 0;
  // The time of the first push for the next update.
  absl::Time first_push_ = absl::InfiniteFuture();
};

}  // namespace

std::unique_ptr<Admission> NewTimedAdmission(const SliceOptions& options) {
  return std::make_unique<TimedAdmission>(options);
}

}  // namespace ps
