#include "server/weight_slice.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/optimizers/schedule.h"

namespace ps {
namespace {

// The sign of each sum of votes, with ties to +, as every server has it.
// Bernstein et al., "signSGD: compressed optimisation for non-convex problems",
// ICML 2018, section 4.
void TakeMajority(std::vector<float>* votes) {
  for (float& sum : *votes) sum = sum < 0 ? -1.0f : 1.0f;
}

}  // namespace

absl::Status WeightSlice::Initialize(const ReceivedPayload& payload) {
  std::vector<float> weights(num_elements_);
  AddPayload(payload.pieces, weights.data());
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (initialized_) {
    if (answer_.version == 0 && weights == weights_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "this slice already has other weights");
  }
  if (rule_ == UpdateRule::kOptimizer) {
    PS_ASSIGN_OR_RETURN(optimizer_,
                        NewOptimizer(config_->optimizer(), num_elements_));
  }
  weights_ = std::move(weights);
  sum_.resize(num_elements_);
  waiting_.resize(config_->cluster().num_workers());
  initialized_ = true;
  answer_.weights = EncodeDense(weights_);
  return absl::OkStatus();
}

absl::StatusOr<WeightAnswer> WeightSlice::Pull() const {
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  if (!initialized_) {
    return absl::FailedPreconditionError(
        "the weights have not been initialised; worker 0 does that when it has "
        "started");
  }
  return answer_;
}

void WeightSlice::Push(const WorkerPush& push, PushDone done) {
  // Callers run after the lock is released: they serialise and send.
  std::vector<PushDone> answered;
  absl::StatusOr<WeightAnswer> answer = absl::CancelledError("");
  {
    MutexLock lock(&mu_);
    const int64_t version = answer_.version;
    if (!failure_.ok()) {
      answer = failure_;
      answered.push_back(std::move(done));
    } else if (!initialized_) {
      answer = absl::FailedPreconditionError(
          "push before the weights were initialised");
      answered.push_back(std::move(done));
    } else if (push.iteration >= 0 && push.iteration == version - 1) {
      answer = answer_;
      answered.push_back(std::move(done));
    } else if (push.iteration != version) {
      answer = absl::FailedPreconditionError(
          absl::StrCat("push for iteration ", push.iteration, " of worker ",
                       push.rank, "; this slice is at version ", version));
      answered.push_back(std::move(done));
    } else if (Waiting& mine = waiting_[push.rank]; mine.pushed) {
      answer = absl::CancelledError("the same push came again");
      answered.push_back(std::move(mine.done));
      mine.done = std::move(done);
    } else {
      mine.pushed = true;
      mine.push = push;
      mine.done = std::move(done);
      if (++num_pushed_ == static_cast<int>(waiting_.size())) {
        Update();
        answer = answer_;
        for (Waiting& waiting : waiting_) {
          answered.push_back(std::move(waiting.done));
          waiting = Waiting();
        }
        num_pushed_ = 0;
      }
    }
  }
  for (const PushDone& call : answered) call(answer);
}

void WeightSlice::Update() {
  std::fill(sum_.begin(), sum_.end(), 0.0f);
  WeightAnswer answer;
  // Rank order, so that every run adds in the same order.
  for (const Waiting& waiting : waiting_) {
    AddPayload(waiting.push.payload.pieces, sum_.data());
    answer.mean_loss += waiting.push.loss;
    answer.sent_elements += waiting.push.count;
    answer.bytes_up += waiting.push.message_bytes;
  }
  const float num_workers = static_cast<float>(waiting_.size());
  if (rule_ == UpdateRule::kOptimizer && config_->optimizer().majority_vote()) {
    // Where no worker had a gradient, no vote is not a tie.
    if (answer.sent_elements > 0) TakeMajority(&sum_);
  } else if (waiting_.size() > 1) {
    for (float& value : sum_) value /= num_workers;
  }
  answer.mean_loss /= num_workers;
  answer.version = answer_.version + 1;
  if (rule_ == UpdateRule::kMean) {
    weights_ = sum_;
  } else {
    optimizer_->Step(LearningRate(config_->optimizer(), config_->schedule(),
                                  total_updates_, answer_.version),
                     sum_.data(), weights_.data());
  }
  answer_ = std::move(answer);
  answer_.weights = EncodeDense(weights_);
}

void WeightSlice::Fail(const absl::Status& failure) {
  std::vector<PushDone> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    for (Waiting& waiting : waiting_) {
      if (waiting.pushed) answered.push_back(std::move(waiting.done));
      waiting = Waiting();
    }
    num_pushed_ = 0;
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
  for (int rank = 0; rank < config_->cluster().num_workers(); ++rank) {
    if (!initialized_ || !waiting_[rank].pushed) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace ps
