#include "server/norms/squares_gatherer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Before every round.
constexpr SquaresRound kNoRound = {-1, 0};

std::string Describe(const SquaresRound& round) {
  return absl::StrCat("exchange ", round.stage, " of update ", round.update);
}

}  // namespace

absl::Status SquaresGatherer::Check(
    const SquaresRound& round, int contributor,
    const std::vector<TensorSquares>& squares) const {
  PS_RETURN_IF_ERROR(failure_);
  if (contributor < 0 || contributor >= options_.num_contributors) {
    return absl::InvalidArgumentError(
        absl::StrCat("squares of ", options_.contributor, " ", contributor,
                     "; there are ", options_.num_contributors));
  }
  for (const TensorSquares& each : squares) {
    if (each.tensor < 0 || each.tensor >= options_.num_tensors) {
      return absl::InvalidArgumentError(
          absl::StrCat("squares of tensor ", each.tensor, "; there are ",
                       options_.num_tensors));
    }
  }
  const SquaresRound last = kept_.empty() ? kNoRound : kept_.rbegin()->first;
  if (round.update >= 0 && last < round &&
      (num_here_ == 0 || round == round_)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      options_.contributor, " ", contributor, " is in ", Describe(round),
      "; the others are in ", Describe(num_here_ > 0 ? round_ : last)));
}

void SquaresGatherer::Add(const SquaresRound& round, int contributor,
                          std::vector<TensorSquares> squares, Done done) {
  Done answered;
  absl::StatusOr<Sums> answer =
      absl::CancelledError("superseded by a repeat of the same call");
  bool complete = false;
  Sums sums;
  {
    MutexLock lock(&mu_);
    const auto kept = kept_.find(round);
    if (failure_.ok() && kept != kept_.end()) {
      answer = kept->second;
      answered = std::move(done);
    } else if (const absl::Status status = Check(round, contributor, squares);
               !status.ok()) {
      answer = status;
      answered = std::move(done);
    } else {
      contributions_.resize(options_.num_contributors);
      Contribution& mine = contributions_[contributor];
      if (mine.here) answered = std::move(mine.done);
      mine.done = std::move(done);
      if (!mine.here) {
        mine.here = true;
        mine.squares = std::move(squares);
        round_ = round;
        complete = ++num_here_ == options_.num_contributors;
      }
      if (complete) sums = AddUp();
    }
  }
  if (answered) answered(answer);
  if (complete) {
    combine_(round, std::move(sums),
             [this, round](const absl::StatusOr<Sums>& totals) {
               Answer(round, totals);
             });
  }
}

SquaresGatherer::Sums SquaresGatherer::AddUp() const {
  Sums sums(options_.num_tensors);
  for (const Contribution& contribution : contributions_) {
    for (const TensorSquares& each : contribution.squares) {
      Squares& sum = sums[each.tensor];
      sum.weights += each.squares.weights;
      sum.gradient += each.squares.gradient;
      sum.step += each.squares.step;
    }
  }
  return sums;
}

void SquaresGatherer::Answer(const SquaresRound& round,
                             const absl::StatusOr<Sums>& sums) {
  std::vector<Contribution> answered;
  {
    MutexLock lock(&mu_);
    answered.swap(contributions_);
    num_here_ = 0;
    if (sums.ok()) KeepLocked(round, *sums);
  }
  for (const Contribution& each : answered) {
    if (each.here) each.done(sums);
  }
}

void SquaresGatherer::Keep(const SquaresRound& round, const Sums& sums) {
  MutexLock lock(&mu_);
  KeepLocked(round, sums);
}

void SquaresGatherer::KeepLocked(const SquaresRound& round, const Sums& sums) {
  kept_[round] = sums;
  if (static_cast<int>(kept_.size()) > options_.kept_rounds) {
    kept_.erase(kept_.begin());
  }
}

void SquaresGatherer::Forget() {
  std::vector<Contribution> answered;
  {
    MutexLock lock(&mu_);
    answered.swap(contributions_);
    num_here_ = 0;
    kept_.clear();
  }
  for (const Contribution& each : answered) {
    if (each.here) each.done(absl::CancelledError("of an earlier job"));
  }
}

void SquaresGatherer::Fail(const absl::Status& failure) {
  std::vector<Contribution> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    answered.swap(contributions_);
    num_here_ = 0;
  }
  for (const Contribution& each : answered) {
    if (each.here) each.done(failure);
  }
}

}  // namespace ps
