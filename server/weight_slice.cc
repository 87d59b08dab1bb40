#include "server/weight_slice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace ps {

WeightSlice::WeightSlice(const SliceOptions& options, SquaresExchange* exchange)
    : options_(options), exchange_(exchange) {
  if (options_.stretches.empty()) {
    options_.stretches.push_back({0, 0, options_.num_elements, true});
  }
}

absl::Status WeightSlice::Initialize(const ReceivedPayload& payload) {
  MutexLock weights_lock(&weights_mu_);
  {
    MutexLock lock(&mu_);
    PS_RETURN_IF_ERROR(failure_);
    if (initialized_) {
      // No update is under way in version 0 but for the first one's, which
      // needs no first weights any more.
      if (answer_.version == 0 && weights_->Equal(payload.pieces)) {
        return absl::OkStatus();
      }
      return absl::FailedPreconditionError(
          "this slice already has other weights");
    }
  }
  PS_ASSIGN_OR_RETURN(weights_, SliceWeights::Create(options_, payload.pieces));
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  waiting_.resize(options_.config->cluster().num_workers());
  initialized_ = true;
  return absl::OkStatus();
}

absl::StatusOr<WeightAnswer> WeightSlice::Pull() const {
  MutexLock weights_lock(&weights_mu_);
  WeightAnswer answer;
  {
    MutexLock lock(&mu_);
    PS_RETURN_IF_ERROR(failure_);
    if (!initialized_) {
      return absl::FailedPreconditionError(
          "the weights have not been initialised; worker 0 does that when it "
          "has started");
    }
    answer = answer_;
  }
  answer.weights.bytes = weights_->All();
  answer.weights.difference = false;
  return answer;
}

void WeightSlice::Push(WorkerPush push, PushDone done) {
  // Callers run after the lock is released: they serialise and send.
  PushDone answered;
  absl::StatusOr<WeightAnswer> answer = absl::CancelledError("");
  std::vector<WorkerPush> complete;
  {
    MutexLock lock(&mu_);
    const int64_t version = answer_.version;
    if (!failure_.ok()) {
      answer = failure_;
      answered = std::move(done);
    } else if (!initialized_) {
      answer = absl::FailedPreconditionError(
          "push before the weights were initialised");
      answered = std::move(done);
    } else if (options_.rule == UpdateRule::kMean && !push.dense) {
      answer = absl::InvalidArgumentError(
          "a push of statistics must hold all of them");
      answered = std::move(done);
    } else if (push.iteration >= 0 && push.iteration == version - 1) {
      // Whoever has pushed the next iteration has had the answer to this one.
      if (!updating_) answer = answer_;
      answered = std::move(done);
    } else if (push.iteration != version) {
      answer = absl::FailedPreconditionError(
          absl::StrCat("push for iteration ", push.iteration, " of worker ",
                       push.rank, "; this slice is at version ", version));
      answered = std::move(done);
    } else if (Waiting& mine = waiting_[push.rank]; mine.pushed) {
      answer = absl::CancelledError("the same push came again");
      answered = std::move(mine.done);
      mine.done = std::move(done);
    } else {
      mine.pushed = true;
      mine.push = std::move(push);
      mine.done = std::move(done);
      if (++num_pushed_ == static_cast<int>(waiting_.size())) {
        updating_ = true;
        for (Waiting& waiting : waiting_) {
          complete.push_back(std::move(waiting.push));
        }
        // The weights can change where they are once nobody else holds them.
        answer_.weights = DownlinkPayload();
      }
    }
  }
  if (answered) answered(answer);
  if (!complete.empty()) BeginUpdate(std::move(complete));
}

void WeightSlice::BeginUpdate(std::vector<WorkerPush> pushes) {
  Proceed([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(weights_mu_) {
    next_ = WeightAnswer();
    next_.complete = absl::Now();
    next_.version = pushes[0].iteration + 1;
    stage_ = 0;
    GradientPayloads gradients;
    gradients.all_dense = true;
    // Rank order, so that every run adds in the same order.
    for (const WorkerPush& push : pushes) {
      gradients.payloads.push_back(&push.payload.pieces);
      gradients.any_dense = gradients.any_dense || push.dense;
      gradients.all_dense = gradients.all_dense && push.dense;
      gradients.sent_elements += push.count;
      next_.mean_loss += push.loss;
      next_.bytes_up += push.message_bytes;
    }
    next_.mean_loss /= static_cast<double>(pushes.size());
    next_.sent_elements = gradients.sent_elements;
    auto outcome =
        weights_->Begin(pushes[0].iteration, gradients, &next_.phases);
    // Before the answers, so that whoever gets one may use its credit again.
    pushes.clear();
    return outcome;
  });
}

void WeightSlice::ContinueUpdate(const absl::StatusOr<SquaresTotals>& totals) {
  Proceed([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
              weights_mu_) -> absl::StatusOr<SliceWeights::Outcome> {
    PS_RETURN_IF_ERROR(totals.status());
    std::vector<Squares> mine;
    for (const TensorStretch& stretch : options_.stretches) {
      mine.push_back(totals->tensors[stretch.tensor]);
    }
    return weights_->Continue(mine, totals->norm, &next_.phases);
  });
}

void WeightSlice::Proceed(
    const std::function<absl::StatusOr<SliceWeights::Outcome>()>& step) {
  std::vector<Squares> squares;
  SquaresRound round;
  std::vector<PushDone> answered;
  absl::StatusOr<WeightAnswer> answer = absl::InternalError("");
  {
    MutexLock weights_lock(&weights_mu_);
    absl::StatusOr<SliceWeights::Outcome> outcome = step();
    if (outcome.ok() && !outcome->squares.empty()) {
      squares = std::move(outcome->squares);
      round = {next_.version - 1, stage_++};
    } else {
      if (outcome.ok()) next_.weights = std::move(outcome->answer);
      MutexLock lock(&mu_);
      // With the weights, for Pull's sake.
      if (outcome.ok()) answer_ = std::move(next_);
      if (!outcome.ok() && failure_.ok()) failure_ = outcome.status();
      if (failure_.ok()) {
        answer = answer_;
      } else {
        answer = failure_;
      }
      updating_ = false;
      answered = TakeWaiting();
    }
  }
  if (!squares.empty()) {
    exchange_->Add(round, options_.number, options_.stretches, squares,
                   [this](const absl::StatusOr<SquaresTotals>& totals) {
                     ContinueUpdate(totals);
                   });
  }
  // They serialise and send: not under a lock.
  for (const PushDone& call : answered) call(answer);
}

std::vector<PushDone> WeightSlice::TakeWaiting() {
  std::vector<PushDone> calls;
  for (Waiting& waiting : waiting_) {
    if (waiting.pushed) calls.push_back(std::move(waiting.done));
    waiting = Waiting();
  }
  num_pushed_ = 0;
  return calls;
}

void WeightSlice::Fail(const absl::Status& failure) {
  std::vector<PushDone> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    answered = TakeWaiting();
  }
  for (const PushDone& call : answered) call(failure);
}

int64_t WeightSlice::version() const {
  MutexLock lock(&mu_);
  return initialized_ ? answer_.version : -1;
}

std::set<int> WeightSlice::AwaitedRanks() const {
  MutexLock lock(&mu_);
  std::set<int> ranks;
  for (int rank = 0; rank < options_.config->cluster().num_workers(); ++rank) {
    if (!initialized_ || !waiting_[rank].pushed) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace ps
