#include "server/slices/slice_positions.h"

#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/status_macros.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"

namespace ps {
namespace {

// Returns positions for a worker, with the server-side codec's side
// information.
PayloadBuffer WithRemarks(int rank, int64_t iteration,
                          const PayloadBuffer& positions,
                          const SliceState& state) {
  const SliceCoder* const coder = state.coder();
  if (coder == nullptr) return positions;
  return WithServerRemarks(positions, coder->RemarksFor(rank, iteration));
}

// Puts positions into a push that lacks them, and validates its payload unless
// only the compressor can read it. Errors: kInvalidArgument.
absl::Status PutInto(const PayloadBuffer& positions, int64_t num_elements,
                     WorkerPush* push) {
  struct Owner {
    CompletedPayload completed;
    std::shared_ptr<const void> values;
  };
  auto owner = std::make_shared<Owner>();
  PS_ASSIGN_OR_RETURN(owner->completed,
                      WithPositions(push->payload.pieces, positions));
  if (!CodedByCompressor(owner->completed.pieces)) {
    PS_ASSIGN_OR_RETURN(const PayloadInfo info,
                        ValidatePayload(owner->completed.pieces, num_elements));
    push->count = info.count;
    push->dense = info.index_code == IndexCode::kDense;
  }
  owner->values = std::move(push->payload.owner);
  push->lacks_positions = false;
  push->completed = true;
  push->payload.pieces = owner->completed.pieces;
  push->payload.owner = std::move(owner);
  return absl::OkStatus();
}

}  // namespace

SlicePositions::SlicePositions(const SliceOptions& options,
                               std::function<void(WorkerPush, PushDone)> retry)
    : options_(options),
      retry_(std::move(retry)),
      num_workers_(options.config->cluster().num_workers()),
      shared_(options.rule != UpdateRule::kMean &&
              SharesPositions(options.config->compressor(), num_workers_)),
      may_appoint_(shared_ && MayLeaveOut(*options.config)),
      step_timeout_(
          absl::Seconds(options.config->consistency().step_timeout_seconds())),
      told_(num_workers_, -1) {}

bool SlicePositions::HasTurn(int rank, int64_t iteration) const {
  return shared_ && rank == LeaderOf(iteration, num_workers_);
}

bool SlicePositions::IsAppointed(int rank, int64_t iteration) const {
  return iteration == appointed_for_ && appointed_.count(rank) > 0;
}

std::optional<PayloadBuffer> SlicePositions::Find(int64_t iteration) const {
  const auto found = positions_.find(iteration);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::optional<PayloadBuffer>> SlicePositions::SelectedAmong(
    const std::vector<WorkerPush>& pushes) const {
  for (const WorkerPush& push : pushes) {
    if (!HasTurn(push.rank, push.iteration)) continue;
    PS_ASSIGN_OR_RETURN(PayloadBuffer positions,
                        PositionsOf(push.payload.pieces));
    return std::optional<PayloadBuffer>(std::move(positions));
  }
  return std::optional<PayloadBuffer>();
}

absl::StatusOr<std::optional<PayloadBuffer>> SlicePositions::SelectedBy(
    const WorkerPush& push) const {
  if (!HasTurn(push.rank, push.iteration) &&
      !IsAppointed(push.rank, push.iteration)) {
    return std::optional<PayloadBuffer>();
  }
  PS_ASSIGN_OR_RETURN(PayloadBuffer positions,
                      PositionsOf(push.payload.pieces));
  return std::optional<PayloadBuffer>(std::move(positions));
}

absl::StatusOr<std::optional<PayloadBuffer>> SlicePositions::For(
    int rank, int64_t iteration, const WorkerPast* past) const {
  if (!shared_ || HasTurn(rank, iteration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", rank, " has no leader in iteration ", iteration));
  }
  const UpdateRecord* const update =
      past == nullptr ? nullptr : past->UpdateOf(iteration);
  return update == nullptr ? Find(iteration) : SelectedAmong(update->pushes);
}

bool SlicePositions::Ask(int rank, int64_t iteration, const SliceState& state,
                         const WorkerPast* past, PositionsDone done) {
  const int64_t version = state.progress().version;
  const auto positions = For(rank, iteration, past);
  if (!positions.ok()) {
    done(positions.status());
  } else if (positions->has_value()) {
    told_[rank] = iteration;
    done(WithRemarks(rank, iteration, **positions,
                     past != nullptr ? past->state() : state));
  } else if (may_appoint_ &&
             (iteration < version || IsAppointed(rank, iteration))) {
    done(PayloadBuffer());
  } else if (iteration != version &&
             !(may_appoint_ && iteration < options_.total_updates)) {
    done(absl::FailedPreconditionError(
        absl::StrCat("worker ", rank, " asks for the positions of iteration ",
                     iteration, "; this slice is at version ", version)));
  } else {
    Question& question = questions_[rank];
    question.iteration = iteration;
    question.done.swap(done);
    if (done != nullptr) {
      done(absl::CancelledError("superseded by a newer call of this worker"));
    }
    return true;
  }
  return false;
}

std::set<int> SlicePositions::Waiting() const {
  std::set<int> ranks;
  for (const auto& entry : questions_) ranks.insert(entry.first);
  return ranks;
}

absl::Time SlicePositions::Appoint(
    absl::Time now, absl::FunctionRef<std::set<int>()> awaited_ranks,
    const SliceState& state) {
  if (!may_appoint_) return absl::InfiniteFuture();
  const int64_t iteration = state.progress().version;
  if (Find(iteration).has_value()) Serve(iteration, state);
  std::vector<PositionsDone> too_late;
  std::set<int> asking;
  for (auto question = questions_.begin(); question != questions_.end();) {
    if (question->second.iteration == iteration) asking.insert(question->first);
    const bool over = question->second.iteration < iteration;
    if (over) too_late.push_back(std::move(question->second.done));
    question = over ? questions_.erase(question) : std::next(question);
  }
  for (const PositionsDone& done : too_late) done(PayloadBuffer());
  if (asking.empty()) return absl::InfiniteFuture();
  if (turn_.iteration != iteration) {
    turn_ = {iteration, LeaderOf(iteration, num_workers_), now + step_timeout_};
  }
  const std::set<int> awaited = awaited_ranks();
  const bool late = now >= turn_.end;
  if (late || awaited.count(turn_.leader) == 0) {
    // If the leader is lost, the next worker will ask; all slices, each of
    // which may have been asked by others first, then take the same one. If it
    // is late, only those that have asked are known to be in time.
    int next = turn_.leader;
    for (int i = 1; i <= num_workers_; ++i) {
      next = (turn_.leader + i) % num_workers_;
      if (awaited.count(next) > 0 && (!late || asking.count(next) > 0)) break;
    }
    turn_ = {iteration, next, now + step_timeout_};
  }
  if (asking.count(turn_.leader) > 0) {
    if (iteration != appointed_for_) appointed_.clear();
    appointed_for_ = iteration;
    appointed_.insert(turn_.leader);
    AnswerQuestion(turn_.leader, PayloadBuffer());
  }
  return turn_.end;
}

bool SlicePositions::Forgot(const WorkerPush& push,
                            const SliceState& state) const {
  return may_appoint_ && push.iteration >= state.progress().version &&
         push.iteration < options_.total_updates &&
         told_[push.rank] != push.iteration;
}

absl::StatusOr<bool> SlicePositions::Complete(const SliceState& state,
                                              const WorkerPast* past,
                                              WorkerPush* push) const {
  const int64_t version = state.progress().version;
  PS_ASSIGN_OR_RETURN(const std::optional<PayloadBuffer> positions,
                      For(push->rank, push->iteration, past));
  if (!positions.has_value()) return push->iteration != version;
  // The positions may be those of another leader than this worker was told.
  if (may_appoint_ && push->iteration < version) return true;
  PS_RETURN_IF_ERROR(
      Annotate(PutInto(*positions, options_.num_elements, push),
               absl::StrCat("values of worker ", push->rank, " for ",
                            options_.name, ", iteration ", push->iteration)));
  return true;
}

void SlicePositions::Hold(WorkerPush push, PushDone done) {
  HeldValues& held = values_[push.rank];
  held.push = std::move(push);
  held.done.swap(done);
  if (done != nullptr) done(absl::CancelledError(kRepeatedPush));
}

absl::Status SlicePositions::CheckCoded(const SliceState& state,
                                        const WorkerPast* past,
                                        WorkerPush* push) const {
  if (state.coder() == nullptr) {
    return absl::InvalidArgumentError(
        "values that only a compressor can read; this job's has no part at "
        "the servers");
  }
  // A repeat of a push that was counted changes nothing; others are refused.
  if (push->iteration != state.progress().version) {
    return ReadCoded(push->payload.pieces, options_.num_elements).status();
  }
  std::string leader;
  const bool leads = HasTurn(push->rank, push->iteration) ||
                     IsAppointed(push->rank, push->iteration);
  if (!leads) {
    if (!push->completed) {
      return absl::InvalidArgumentError(
          "coded values at positions of its own; only the leader has any");
    }
    PS_ASSIGN_OR_RETURN(const std::optional<PayloadBuffer> positions,
                        For(push->rank, push->iteration, past));
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
      state.coder()->Check(push->payload.pieces, leads ? nullptr : &leader));
  return absl::OkStatus();
}

void SlicePositions::Keep(int64_t iteration, PayloadBuffer positions,
                          const SliceState& state) {
  positions_.emplace(iteration, std::move(positions));
  Serve(iteration, state);
}

absl::Status SlicePositions::KeepLastOf(const SliceHistory& history) {
  if (!shared_ || history.updates.empty()) return absl::OkStatus();
  const auto& [version, update] = *history.updates.rbegin();
  PS_ASSIGN_OR_RETURN(std::optional<PayloadBuffer> positions,
                      SelectedAmong(update.pushes));
  if (positions.has_value()) positions_.emplace(version, *std::move(positions));
  return absl::OkStatus();
}

void SlicePositions::Serve(int64_t iteration, const SliceState& state) {
  const std::optional<PayloadBuffer> positions = Find(iteration);
  std::map<int, PositionsDone> asked;
  for (auto question = questions_.begin(); question != questions_.end();) {
    const bool served = question->second.iteration == iteration;
    if (served) asked[question->first] = std::move(question->second.done);
    question = served ? questions_.erase(question) : std::next(question);
  }
  for (const auto& [rank, done] : asked) {
    told_[rank] = iteration;
    done(WithRemarks(rank, iteration, *positions, state));
  }
  std::map<int, HeldValues> values;
  values.swap(values_);
  for (auto& [rank, held] : values) {
    retry_(std::move(held.push), std::move(held.done));
  }
}

void SlicePositions::ForgetBefore(int64_t iteration) {
  positions_.erase(positions_.begin(), positions_.lower_bound(iteration));
}

void SlicePositions::AnswerQuestion(
    int rank, const absl::StatusOr<PayloadBuffer>& answer) {
  if (auto question = questions_.extract(rank)) question.mapped().done(answer);
}

void SlicePositions::AnswerAllOf(int rank, const absl::Status& failure) {
  AnswerQuestion(rank, failure);
  if (auto held = values_.extract(rank)) held.mapped().done(failure);
}

void SlicePositions::Fail(const absl::Status& failure) {
  for (int rank = 0; rank < num_workers_; ++rank) AnswerAllOf(rank, failure);
}

}  // namespace ps
