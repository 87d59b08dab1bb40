#include "server/membership.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {

Membership::Membership(const MembershipOptions& options, const Clock* clock)
    : options_(options),
      clock_(clock),
      start_(clock->Now()),
      workers_(options.num_workers) {}

absl::Status Membership::CheckRank(int rank) const {
  if (rank >= 0 && rank < options_.num_workers) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("worker rank is ", rank, "; this job has ranks 0 to ",
                   options_.num_workers - 1, " (cluster.num_workers)"));
}

std::string Membership::NameLocked(int rank) const {
  const std::string& name = workers_[rank].name;
  return absl::StrCat("worker ", rank,
                      name.empty() ? "" : absl::StrCat(" (", name, ")"));
}

std::string Membership::NameOf(int rank) const {
  MutexLock lock(&mu_);
  return NameLocked(rank);
}

absl::StatusOr<bool> Membership::Register(int rank, uint64_t incarnation,
                                          const std::string& name, bool began) {
  PS_RETURN_IF_ERROR(CheckRank(rank));
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  Worker& worker = workers_[rank];
  const bool other = !worker.registered || worker.incarnation != incarnation;
  if (!options_.workers_join || !other) {
    PS_RETURN_IF_ERROR(CheckNotGivenUp(rank));
  } else if (worker.given_up && !began) {
    return absl::UnavailableError(absl::StrCat(
        NameLocked(rank), " joins when the job has its initial weights"));
  }
  // A process that has finished and left need not come back. With snapshots,
  // one that never attended has not taken part, and can be replaced: it may
  // have found only later that it must end.
  const bool replaceable =
      worker.connection == 0 && (options_.keeps_snapshots || worker.finished);
  const bool taken =
      worker.registered && worker.incarnation != incarnation && !replaceable;
  const bool comes_back =
      taken && (options_.workers_come_back || options_.workers_join) &&
      worker.lost_since != absl::InfiniteFuture();
  if (taken && !comes_back && !worker.given_up) {
    if (options_.keeps_snapshots || options_.workers_join) {
      return MakeWay(rank, name);
    }
    return absl::AlreadyExistsError(absl::StrCat(
        "rank ", rank, " is taken by ", NameLocked(rank), "; ",
        worker.lost_since == absl::InfiniteFuture()
            ? "were two workers started with the same --rank?"
            : "it was lost, and a new worker cannot take its place: what it "
              "had not sent yet is gone. Start the whole job again"));
  }
  // A worker attends right after it registers. Until then it counts as lost, so
  // that the job does not wait for ever if it dies in between.
  if (!worker.registered || comes_back || worker.given_up) {
    worker.lost_since = clock_->Now();
  }
  if (other) {
    // A worker that comes before the job has begun begins with the others.
    worker.joined =
        worker.given_up || (comes_back && options_.workers_join && began);
    // Another process adds nothing after one has finished.
    worker.finished = worker.finished && !worker.given_up;
    worker.announced = worker.announced && worker.finished;
    worker.given_up = false;
  }
  worker.registered = true;
  worker.incarnation = incarnation;
  worker.name = name;
  changed_.SignalAll();
  return worker.joined;
}

absl::Status Membership::MakeWay(int rank, const std::string& name) {
  if (workers_[rank].lost_since == absl::InfiniteFuture()) {
    return absl::UnavailableError(absl::StrCat(
        "rank ", rank, " is taken by ", NameLocked(rank),
        ", which is alive; were two workers started with the same --rank?"));
  }
  if (failure_.ok()) {
    failure_ = absl::UnavailableError(absl::StrCat(
        NameLocked(rank), " was lost and started again as ", name,
        "; the job goes on from its latest snapshot when all processes have "
        "been started again"));
  }
  changed_.SignalAll();
  return failure_;
}

void Membership::Await(int rank) {
  MutexLock lock(&mu_);
  workers_[rank].came = clock_->Now();
}

absl::Status Membership::Check(int rank, uint64_t incarnation) const {
  PS_RETURN_IF_ERROR(CheckRank(rank));
  MutexLock lock(&mu_);
  const Worker& worker = workers_[rank];
  PS_RETURN_IF_ERROR(CheckNotGivenUp(rank));
  if (worker.registered && worker.incarnation == incarnation) {
    return absl::OkStatus();
  }
  if (!worker.registered) {
    return absl::UnauthenticatedError(
        absl::StrCat("worker ", rank, " has not registered with this server"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "worker ", rank, " is another process than the one that registered"));
}

absl::Status Membership::CheckNotGivenUp(int rank) const {
  if (!workers_[rank].given_up) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(NameLocked(rank),
                   " was given up for lost, and the job went on without it",
                   options_.workers_join ? "; started again, it joins" : ""));
}

void Membership::Attend(int rank, int64_t connection) {
  MutexLock lock(&mu_);
  Worker& worker = workers_[rank];
  worker.connection = std::max(worker.connection, connection);
  worker.lost_since = absl::InfiniteFuture();
  changed_.SignalAll();
}

void Membership::Leave(int rank, int64_t connection) {
  MutexLock lock(&mu_);
  Worker& worker = workers_[rank];
  if (connection != worker.connection || worker.given_up) return;
  if (worker.finished) {
    worker.connection = 0;
    return;
  }
  worker.lost_since = clock_->Now();
  changed_.SignalAll();
}

void Membership::Finish(int rank) {
  MutexLock lock(&mu_);
  workers_[rank].finished = true;
  workers_[rank].lost_since = absl::InfiniteFuture();
  changed_.SignalAll();
}

bool Membership::IsGone(int rank) const {
  MutexLock lock(&mu_);
  return workers_[rank].finished || workers_[rank].given_up;
}

bool Membership::HasFinished(int rank) const {
  MutexLock lock(&mu_);
  // A worker that gave up may be restarted.
  return workers_[rank].finished && !workers_[rank].given_up;
}

void Membership::GiveUp(int rank, const std::string& failure) {
  MutexLock lock(&mu_);
  Lose(rank, absl::StrCat("gave up: ", failure));
  workers_[rank].finished = true;
  changed_.SignalAll();
}

void Membership::Fail(const absl::Status& failure) {
  MutexLock lock(&mu_);
  if (failure_.ok()) failure_ = failure;
  changed_.SignalAll();
}

std::vector<int> Membership::MissingRanks() const {
  MutexLock lock(&mu_);
  std::vector<int> ranks;
  for (int rank = 0; rank < options_.num_workers; ++rank) {
    const Worker& worker = workers_[rank];
    if (worker.given_up) continue;
    if (!worker.registered || worker.lost_since != absl::InfiniteFuture()) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void Membership::SetCores(int rank, const std::string& cores) {
  MutexLock lock(&mu_);
  workers_[rank].cores = cores;
}

std::vector<int> Membership::FirstSharers() const {
  MutexLock lock(&mu_);
  std::vector<int> first;
  std::map<std::string, int> ranks;
  for (int rank = 0; rank < options_.num_workers; ++rank) {
    const Worker& worker = workers_[rank];
    if (!worker.registered || worker.given_up) {
      first.push_back(-1);
    } else if (worker.cores.empty()) {
      first.push_back(rank);
    } else {
      first.push_back(ranks.emplace(worker.cores, rank).first->second);
    }
  }
  return first;
}

bool Membership::AllFinished() const {
  return std::all_of(
      workers_.begin(), workers_.end(),
      [](const Worker& worker) { return worker.finished || worker.given_up; });
}

void Membership::Lose(int rank, const std::string& what,
                      const std::string& advice, absl::StatusCode code) {
  const auto left =
      std::count_if(workers_.begin(), workers_.end(),
                    [](const Worker& worker) { return !worker.given_up; });
  const int needed =
      options_.min_workers > 0 ? options_.min_workers : options_.num_workers;
  if (rank == 0 || left - 1 < needed) {
    if (failure_.ok()) {
      failure_ =
          absl::Status(code, absl::StrCat(NameLocked(rank), " ", what, advice));
    }
    return;
  }
  workers_[rank].given_up = true;
  workers_[rank].lost_since = absl::InfiniteFuture();
  warnings_.push_back(absl::StrCat(
      NameLocked(rank), " ", what, ". The job goes on with ", left - 1,
      " workers (consistency.min_workers is ", options_.min_workers, ")"));
}

std::vector<int> Membership::TakeGone() {
  std::vector<int> gone;
  for (int rank = 0; rank < options_.num_workers; ++rank) {
    Worker& worker = workers_[rank];
    if (worker.announced || !(worker.finished || worker.given_up)) continue;
    worker.announced = true;
    gone.push_back(rank);
  }
  return gone;
}

absl::Time Membership::CheckDeadlines(absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  std::vector<int> unregistered;
  for (int rank = 0; rank < options_.num_workers; ++rank) {
    const Worker& worker = workers_[rank];
    if (worker.given_up) continue;
    if (!worker.registered) {
      const absl::Time limit =
          std::max(start_, worker.came) + options_.startup_timeout;
      if (now < limit) {
        next = std::min(next, limit);
      } else {
        unregistered.push_back(rank);
      }
    }
    if (worker.lost_since == absl::InfiniteFuture()) continue;
    const absl::Time limit = worker.lost_since + options_.lost_worker_timeout;
    if (now < limit) {
      next = std::min(next, limit);
    } else {
      Lose(rank,
           absl::StrCat("was lost and did not come back within ",
                        absl::FormatDuration(options_.lost_worker_timeout)),
           "; look at its log, then start the job again",
           options_.keeps_snapshots ? absl::StatusCode::kUnavailable
                                    : absl::StatusCode::kAborted);
    }
  }
  if (unregistered.empty()) return next;
  if (options_.min_workers > 0 && options_.min_workers < options_.num_workers) {
    for (const int rank : unregistered) {
      Lose(rank, absl::StrCat("did not register within ",
                              absl::FormatDuration(options_.startup_timeout),
                              " (cluster.startup_timeout_seconds)"));
    }
  } else if (failure_.ok()) {
    failure_ = absl::DeadlineExceededError(
        absl::StrCat("worker ", absl::StrJoin(unregistered, ", "), " of ",
                     options_.num_workers, " did not register within ",
                     absl::FormatDuration(options_.startup_timeout),
                     " (cluster.startup_timeout_seconds); start it, or lower "
                     "cluster.num_workers, or allow more time if it is "
                     "reading its data"));
  }
  return next;
}

absl::Status Membership::WaitUntilOver(
    const std::function<void(int rank)>& gone) {
  for (;;) {
    std::vector<int> ranks;
    std::vector<std::string> warnings;
    {
      MutexLock lock(&mu_);
      const absl::Time next = CheckDeadlines(clock_->Now());
      if (!failure_.ok()) return failure_;
      if (AllFinished()) return absl::OkStatus();
      ranks = TakeGone();
      warnings.swap(warnings_);
      if (ranks.empty()) changed_.WaitFor(&mu_, next - clock_->Now());
    }
    for (const std::string& warning : warnings) LOG(WARNING) << warning;
    for (const int rank : ranks) {
      if (gone != nullptr) gone(rank);
    }
  }
}

}  // namespace ps
