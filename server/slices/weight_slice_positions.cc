// What a slice does for workers that share positions: followers ask for those
// of the leader, and send values alone.
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "server/slices/replay.h"
#include "server/slices/weight_slice.h"

namespace ps {
namespace {

constexpr char kAskedAgain[] = "superseded by a newer call of this worker";

}  // namespace

void WeightSlice::GetPositions(int rank, int64_t iteration,
                               PositionsDone done) {
  mailbox_.Post([this, rank, iteration, done = std::move(done)]() mutable {
    HandlePositions(rank, iteration, std::move(done));
  });
}

void WeightSlice::HandlePositions(int rank, int64_t iteration,
                                  PositionsDone done) {
  const absl::Status ready = CheckReady(absl::StatusCode::kUnavailable);
  const auto positions =
      ready.ok() ? PositionsFor(rank, iteration)
                 : absl::StatusOr<std::optional<PayloadBuffer>>(ready);
  if (!positions.ok()) {
    done(positions.status());
  } else if (positions->has_value()) {
    told_[rank] = iteration;
    done(WithRemarks(rank, iteration, **positions));
  } else if (may_appoint_ && (iteration < state_->progress().version ||
                              positions_.IsAppointed(rank, iteration))) {
    done(PayloadBuffer());
  } else if (iteration != state_->progress().version &&
             !(may_appoint_ && iteration < options_.total_updates)) {
    done(absl::FailedPreconditionError(absl::StrCat(
        "worker ", rank, " asks for the positions of iteration ", iteration,
        "; this slice is at version ", state_->progress().version)));
  } else {
    WaitingForPositions& asker = askers_[rank];
    asker.iteration = iteration;
    asker.done.swap(done);
    if (done != nullptr) done(absl::CancelledError(kAskedAgain));
    if (!may_appoint_) return;
    {
      MutexLock lock(&mu_);
      // It has been left out elsewhere, and will not push for earlier updates.
      admission_->Pulls(rank, iteration);
    }
    Advance();
  }
}

absl::Time WeightSlice::AppointLeader(absl::Time now) {
  if (!may_appoint_) return absl::InfiniteFuture();
  const int64_t iteration = state_->progress().version;
  if (positions_.Find(iteration).has_value()) ServeFollowers(iteration);
  std::vector<PositionsDone> too_late;
  std::set<int> asking;
  for (auto asker = askers_.begin(); asker != askers_.end();) {
    if (asker->second.iteration == iteration) asking.insert(asker->first);
    const bool over = asker->second.iteration < iteration;
    if (over) too_late.push_back(std::move(asker->second.done));
    asker = over ? askers_.erase(asker) : std::next(asker);
  }
  for (const PositionsDone& done : too_late) done(PayloadBuffer());
  if (asking.empty()) return absl::InfiniteFuture();
  const auto num_workers = static_cast<int>(workers_.size());
  if (turn_.iteration != iteration) {
    turn_ = {iteration, LeaderOf(iteration, num_workers), now + step_timeout_};
  }
  const std::set<int> awaited = AwaitedRanks();
  const bool late = now >= turn_.end;
  if (late || awaited.count(turn_.leader) == 0) {
    // If it is lost, the next one will ask; all slices, each of which may have
    // been asked by others first, then take the same. If it is late, only those
    // that have asked are known to be in time.
    int next = turn_.leader;
    for (int i = 1; i <= num_workers; ++i) {
      next = (turn_.leader + i) % num_workers;
      if (awaited.count(next) > 0 && (!late || asking.count(next) > 0)) break;
    }
    turn_ = {iteration, next, now + step_timeout_};
  }
  if (asking.count(turn_.leader) > 0) {
    positions_.Appoint(turn_.leader, iteration);
    TellAsker(turn_.leader, PayloadBuffer());
  }
  return turn_.end;
}

void WeightSlice::TellAsker(int rank,
                            const absl::StatusOr<PayloadBuffer>& answer) {
  const auto asker = askers_.find(rank);
  if (asker == askers_.end()) return;
  const PositionsDone done = std::move(asker->second.done);
  askers_.erase(asker);
  done(answer);
}

bool WeightSlice::UsesUnknownPositions(const WorkerPush& push) const {
  return may_appoint_ && state_ != nullptr && failure_.ok() &&
         push.iteration >= state_->progress().version &&
         push.iteration < options_.total_updates &&
         told_[push.rank] != push.iteration;
}

absl::StatusOr<std::optional<PayloadBuffer>> WeightSlice::PositionsFor(
    int rank, int64_t iteration) const {
  if (!positions_.shared() || positions_.HasTurn(rank, iteration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " has no leader in iteration ", iteration));
  }
  const WorkerPast* const past = workers_[rank].past.get();
  const UpdateRecord* const update =
      past == nullptr ? nullptr : past->UpdateOf(iteration);
  if (update == nullptr) return positions_.Find(iteration);
  return PositionsOfLeader(update->pushes, static_cast<int>(workers_.size()));
}

PayloadBuffer WeightSlice::WithRemarks(int rank, int64_t iteration,
                                       const PayloadBuffer& positions) const {
  const WorkerPast* const past = workers_[rank].past.get();
  const SliceCoder* const coder =
      (past != nullptr ? past->state() : *state_).coder();
  if (coder == nullptr) return positions;
  return WithServerRemarks(positions, coder->RemarksFor(rank, iteration));
}

absl::Status WeightSlice::CheckCoded(WorkerPush* push) const {
  PS_RETURN_IF_ERROR(CheckReady(absl::StatusCode::kFailedPrecondition));
  if (state_->coder() == nullptr) {
    return absl::InvalidArgumentError(
        "values that only a compressor can read; this job's has no part at "
        "the servers");
  }
  // A repeat of a push that was counted changes nothing; others are refused.
  if (push->iteration != state_->progress().version) {
    return ReadCoded(push->payload.pieces, options_.num_elements).status();
  }
  std::string leader;
  const bool leads = positions_.IsLeader(push->rank, push->iteration);
  if (!leads) {
    if (!push->completed) {
      return absl::InvalidArgumentError(
          "coded values at positions of its own; only the leader has any");
    }
    PS_ASSIGN_OR_RETURN(const std::optional<PayloadBuffer> positions,
                        PositionsFor(push->rank, push->iteration));
    if (!positions.has_value()) {
      return absl::InvalidArgumentError(
          "coded values before the leader has pushed");
    }
    PS_ASSIGN_OR_RETURN(const PositionRemarks remarks,
                        ReadRemarks({positions->span()}));
    leader = remarks.leader;
  }
  PS_ASSIGN_OR_RETURN(
      push->count,
      state_->coder()->Check(push->payload.pieces, leads ? nullptr : &leader));
  return absl::OkStatus();
}

absl::StatusOr<bool> WeightSlice::Complete(WorkerPush* push) {
  PS_RETURN_IF_ERROR(CheckReady(absl::StatusCode::kFailedPrecondition));
  PS_ASSIGN_OR_RETURN(const std::optional<PayloadBuffer> positions,
                      PositionsFor(push->rank, push->iteration));
  if (!positions.has_value()) {
    return push->iteration != state_->progress().version;
  }
  // They may be those of another leader than this worker was told of.
  if (may_appoint_ && push->iteration < state_->progress().version) return true;
  PS_RETURN_IF_ERROR(
      Annotate(CompletePush(*positions, options_.num_elements, push),
               absl::StrCat("values of worker ", push->rank, " for ",
                            options_.name, ", iteration ", push->iteration)));
  return true;
}

void WeightSlice::ServeFollowers(int64_t iteration) {
  const std::optional<PayloadBuffer> positions = positions_.Find(iteration);
  std::map<int, PositionsDone> asked;
  for (auto asker = askers_.begin(); asker != askers_.end();) {
    const bool served = asker->second.iteration == iteration;
    if (served) asked[asker->first] = std::move(asker->second.done);
    asker = served ? askers_.erase(asker) : std::next(asker);
  }
  for (const auto& [rank, done] : asked) {
    told_[rank] = iteration;
    done(WithRemarks(rank, iteration, *positions));
  }
  std::map<int, WaitingValues> values;
  values.swap(values_);
  for (auto& entry : values) {
    WaitingValues& waiting = entry.second;
    HandlePush(std::move(waiting.push), std::move(waiting.done));
  }
}

}  // namespace ps
