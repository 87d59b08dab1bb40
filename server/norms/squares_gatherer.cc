#include "server/norms/squares_gatherer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The state before all rounds.
constexpr SquaresRound kNoRound = {-1, 0};

std::string Describe(const SquaresRound& round) {
  return absl::StrCat("exchange ", round.stage, " of update ", round.update);
}

}  // namespace

absl::Status SquaresGatherer::Check(const SquaresRound& round, int contributor,
                                    const std::vector<Squares>& squares) const {
  PS_RETURN_IF_ERROR(failure_);
  const auto num_contributors = static_cast<int>(options_.sizes.size());
  if (contributor < 0 || contributor >= num_contributors) {
    return absl::InvalidArgumentError(
        absl::StrCat("squares of ", options_.contributor, " ", contributor,
                     "; there are ", num_contributors));
  }
  const auto size = static_cast<int64_t>(squares.size());
  if (size != options_.sizes[contributor]) {
    return absl::InvalidArgumentError(absl::StrCat(
        options_.contributor, " ", contributor, " sent the squares of ", size,
        " parts of tensors; it holds ", options_.sizes[contributor]));
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
                          std::vector<Squares> squares, Done done) {
  Done answered;
  absl::StatusOr<Sums> answer =
      absl::CancelledError("superseded by a repeat of the same call");
  bool complete = false;
  Contributions contributions;
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
      contributions_.resize(options_.sizes.size());
      waiting_.resize(options_.sizes.size());
      answered = std::exchange(waiting_[contributor], std::move(done));
      if (!answered) {
        contributions_[contributor] = std::move(squares);
        round_ = round;
        complete = ++num_here_ == static_cast<int>(waiting_.size());
      }
      if (complete) contributions.swap(contributions_);
    }
  }
  if (answered) answered(answer);
  if (complete) {
    combine_(round, contributions,
             [this, round](const absl::StatusOr<Sums>& totals) {
               Answer(round, totals);
             });
  }
}

void SquaresGatherer::Answer(const SquaresRound& round,
                             const absl::StatusOr<Sums>& sums) {
  std::vector<Done> answered;
  {
    MutexLock lock(&mu_);
    answered.swap(waiting_);
    num_here_ = 0;
    if (sums.ok()) KeepLocked(round, *sums);
  }
  for (const Done& done : answered) {
    if (done) done(sums);
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

void SquaresGatherer::Fail(const absl::Status& failure) {
  std::vector<Done> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    answered.swap(waiting_);
    num_here_ = 0;
  }
  for (const Done& done : answered) {
    if (done) done(failure);
  }
}

}  // namespace ps
