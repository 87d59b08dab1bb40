#include "server/slices/synchronous_slice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/consistency.h"
#include "common/status_macros.h"

namespace ps {

SynchronousSlice::SynchronousSlice(const SliceOptions& options,
                                   SquaresExchange* exchange, Timer* timer)
    : options_(options),
      exchange_(exchange),
      timer_(timer),
      may_leave_out_(MayLeaveOut(*options.config)),
      workers_(options.config->cluster().num_workers()) {
  if (options_.stretches.empty()) {
    options_.stretches.push_back({0, 0, options_.num_elements, true});
  }
}

absl::Status SynchronousSlice::Initialize(const ReceivedPayload& payload) {
  MutexLock weights_lock(&weights_mu_);
  const uint64_t digest = DigestOf(payload.pieces, options_.num_elements);
  {
    MutexLock lock(&mu_);
    PS_RETURN_IF_ERROR(failure_);
    if (initialized_) return CheckFirstWeights(digest, first_digest_);
  }
  PS_ASSIGN_OR_RETURN(weights_, SliceWeights::Create(options_, payload.pieces));
  MutexLock lock(&mu_);
  PS_RETURN_IF_ERROR(failure_);
  first_digest_ = digest;
  initialized_ = true;
  CountPushes();
  return absl::OkStatus();
}

void SynchronousSlice::Pull(int rank, int64_t iterations, PushDone done) {
  absl::Status refused = CheckPull(iterations, options_);
  PushDone older;
  {
    MutexLock lock(&mu_);
    refused.Update(failure_);
    if (refused.ok() && !initialized_) refused = NotInitialized();
    if (refused.ok()) {
      WaitingPull pull{rank, iterations, std::move(done)};
      const auto same = std::find_if(
          pulls_.begin(), pulls_.end(),
          [rank](const WaitingPull& other) { return other.rank == rank; });
      if (same == pulls_.end()) {
        pulls_.push_back(std::move(pull));
      } else {
        std::swap(*same, pull);
        older = std::move(pull.done);
      }
      if (may_leave_out_) {
        // A worker that waits for these weights will not push for earlier
        // updates.
        int64_t& next = workers_[rank].next;
        next = std::max(next, iterations);
        CountPushes();
      }
    }
  }
  if (!refused.ok()) {
    done(refused);
    return;
  }
  if (older)
    older(absl::CancelledError("superseded by a newer pull of this worker"));
  AnswerWithAll();
  MaybeUpdate();
}

absl::Status SynchronousSlice::Check(const WorkerPush& push) const {
  PS_RETURN_IF_ERROR(failure_);
  if (!initialized_) {
    return absl::FailedPreconditionError(
        "push before the weights were initialised");
  }
  if (options_.rule == UpdateRule::kMean && !push.dense) {
    return absl::InvalidArgumentError(
        "a push of statistics must hold all of them");
  }
  const int64_t version = answer_.version;
  bool in_order = push.iteration >= 0;
  if (may_leave_out_) {
    in_order = in_order && push.iteration < options_.total_updates;
  } else {
    in_order = in_order &&
               (push.iteration == version || push.iteration == version - 1);
  }
  if (in_order) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "push for iteration ", push.iteration, " of worker ", push.rank,
      "; this slice is at version ", version, " of ", options_.total_updates));
}

bool SynchronousSlice::IsLate(const WorkerPush& push) const {
  return push.iteration < answer_.version ||
         (updating_ && push.iteration == answer_.version &&
          !workers_[push.rank].pushed);
}

PushDone SynchronousSlice::KeepLate(const WorkerPush& push, PushDone done) {
  LatePush late;
  late.rank = push.rank;
  late.left_out = workers_[push.rank].counted < push.iteration;
  late.done = std::move(done);
  for (LatePush& other : late_) {
    if (other.rank != push.rank) continue;
    std::swap(other, late);
    return std::move(late.done);
  }
  late_.push_back(std::move(late));
  return nullptr;
}

PushDone SynchronousSlice::Keep(WorkerPush push, PushDone done) {
  Worker& mine = workers_[push.rank];
  if (mine.pushed) {
    // The first push is kept because it may be in use.
    std::swap(mine.done, done);
    return done;
  }
  mine.pushed = true;
  mine.push = std::move(push);
  mine.done = std::move(done);
  if (mine.push.iteration == answer_.version) ++num_pushed_;
  if (mine.next <= answer_.version) --num_awaited_;
  SetTimer();
  return nullptr;
}

void SynchronousSlice::SetTimer() {
  if (!may_leave_out_ || num_pushed_ == 0) return;
  if (first_push_ == absl::InfiniteFuture()) first_push_ = absl::Now();
  if (has_timer_) return;
  has_timer_ = true;
  timer_->At(Deadline(), [this] { TimeUp(); });
}

absl::Time SynchronousSlice::Deadline() const {
  return first_push_ +
         absl::Seconds(options_.config->consistency().step_timeout_seconds());
}

void SynchronousSlice::TimeUp() {
  {
    MutexLock lock(&mu_);
    has_timer_ = false;
    // The timer may have been set for an update that is over, long before this
    // one's deadline.
    time_up_ = absl::Now() >= Deadline();
    if (!time_up_) SetTimer();
  }
  MaybeUpdate();
}

void SynchronousSlice::Push(WorkerPush push, PushDone done) {
  // Callbacks run after the lock is released, because they serialise and send.
  PushDone answered;
  absl::StatusOr<WeightAnswer> answer =
      absl::CancelledError("superseded by a repeat of the same push");
  bool late = false;
  {
    MutexLock lock(&mu_);
    const absl::Status in_order = Check(push);
    if (!in_order.ok()) {
      answer = in_order;
      answered = std::move(done);
    } else if (!IsLate(push)) {
      answered = Keep(std::move(push), std::move(done));
    } else if (push.iteration == answer_.version - 1 &&
               workers_[push.rank].counted == push.iteration &&
               (!may_leave_out_ || push.base_version == push.iteration)) {
      // While an update is under way, the last answer is no longer available.
      // If that update waited for all workers, this worker has pushed for it,
      // and so has received the last answer; otherwise it asks again.
      if (!updating_) answer = answer_;
      answered = std::move(done);
    } else {
      answered = KeepLate(push, std::move(done));
      late = true;
    }
  }
  // Returns the worker's credit.
  push.payload = ReceivedPayload();
  if (answered) answered(answer);
  if (late) AnswerWithAll();
  MaybeUpdate();
}

void SynchronousSlice::CountPushes() {
  num_pushed_ = 0;
  num_awaited_ = 0;
  for (const Worker& worker : workers_) {
    if (worker.pushed) {
      if (worker.push.iteration == answer_.version) ++num_pushed_;
    } else if (worker.next <= answer_.version) {
      ++num_awaited_;
    }
  }
  SetTimer();
}

bool SynchronousSlice::Complete() const {
  if (!failure_.ok() || !initialized_ || updating_) return false;
  if (num_awaited_ > 0) {
    return time_up_ && num_pushed_ >= MinWorkers(*options_.config);
  }
  if (num_pushed_ > 0) return true;
  // No worker will push for this update, but some worker waits for a later one.
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return worker.pushed; }) ||
         std::any_of(pulls_.begin(), pulls_.end(),
                     [this](const WaitingPull& pull)
                         ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                           return pull.iterations > answer_.version;
                         });
}

void SynchronousSlice::WorkerGone(int rank) {
  {
    MutexLock lock(&mu_);
    // Without a timeout the mean is always over all workers.
    if (!may_leave_out_) return;
    workers_[rank].next = std::numeric_limits<int64_t>::max();
    CountPushes();
  }
  MaybeUpdate();
}

void SynchronousSlice::MaybeUpdate() {
  // All pushes for a later update may already be here.
  for (;;) {
    std::vector<WorkerPush> pushes;
    int64_t version = 0;
    {
      MutexLock lock(&mu_);
      if (!Complete()) return;
      updating_ = true;
      version = answer_.version;
      // In rank order, so that every run adds in the same order.
      for (Worker& worker : workers_) {
        if (!worker.pushed || worker.push.iteration != version) continue;
        pushes.push_back(std::move(worker.push));
      }
      // The weights can be updated in place once no answer shares them.
      answer_.weights = DownlinkPayload();
    }
    BeginUpdate(version, std::move(pushes));
  }
}

absl::Status SynchronousSlice::CheckDigests(
    const std::vector<WorkerPush>& pushes) {
  std::vector<int> others;
  std::optional<uint64_t> digest;
  for (const WorkerPush& push : pushes) {
    // A worker that skipped ahead to this update holds older weights.
    if (!push.weights_digest.has_value() ||
        (may_leave_out_ && push.base_version != push.iteration)) {
      continue;
    }
    if (!digest.has_value()) digest = weights_->Digest();
    if (*push.weights_digest != *digest) others.push_back(push.rank);
  }
  if (others.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "worker ", absl::StrJoin(others, ", "),
      " does not hold the weights that this server sent (digests differ before "
      "iteration ",
      pushes[0].iteration, "): its memory, or the network, changed them"));
}

void SynchronousSlice::BeginUpdate(int64_t version,
                                   std::vector<WorkerPush> pushes) {
  Proceed([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
              weights_mu_) -> absl::StatusOr<SliceWeights::Outcome> {
    PS_RETURN_IF_ERROR(CheckDigests(pushes));
    const std::optional<bool> compress_next = next_.compress_next;
    next_ = WeightAnswer();
    next_.compress_next = compress_next;
    next_.complete = absl::Now();
    next_.version = version + 1;
    stage_ = 0;
    GradientPayloads gradients;
    gradients.all_dense = true;
    for (const WorkerPush& push : pushes) {
      gradients.payloads.push_back(&push.payload.pieces);
      gradients.any_dense = gradients.any_dense || push.dense;
      gradients.all_dense = gradients.all_dense && push.dense;
      gradients.sent_elements += push.count;
      next_.mean_loss += push.loss / static_cast<double>(pushes.size());
      next_.bytes_up += push.message_bytes;
      if (push.rank == 0) next_.compress_next = push.compress_next;
    }
    next_.sent_elements = gradients.sent_elements;
    auto outcome = weights_->Begin(version, gradients, &next_.phases);
    // Released before the answers, so that workers have their credit back when
    // they receive them.
    pushes.clear();
    return outcome;
  });
}

void SynchronousSlice::ContinueUpdate(
    const absl::StatusOr<SquaresTotals>& totals) {
  Proceed([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
              weights_mu_) -> absl::StatusOr<SliceWeights::Outcome> {
    PS_RETURN_IF_ERROR(totals.status());
    std::vector<Squares> mine;
    for (const TensorStretch& stretch : options_.stretches) {
      mine.push_back(totals->tensors[stretch.tensor]);
    }
    return weights_->Continue(mine, totals->norm, &next_.phases);
  });
  MaybeUpdate();
}

void SynchronousSlice::Proceed(
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
      const int64_t version = answer_.version;
      // Changed together with the weights, so that Pull sees a consistent pair.
      if (outcome.ok()) answer_ = std::move(next_);
      if (!outcome.ok() && failure_.ok()) failure_ = outcome.status();
      updating_ = false;
      if (failure_.ok()) {
        answer = answer_;
        for (size_t rank = 0; rank < workers_.size(); ++rank) {
          Worker& worker = workers_[rank];
          if (!worker.pushed || worker.push.iteration != version) continue;
          worker.pushed = false;
          worker.counted = version;
          if (may_leave_out_ && worker.push.base_version != version) {
            // The worker skipped updates before this one and lacks their
            // changes, so it needs all weights.
            late_.push_back({static_cast<int>(rank), /*left_out=*/false,
                             std::move(worker.done)});
          } else {
            answered.push_back(std::move(worker.done));
          }
        }
        time_up_ = false;
        first_push_ = absl::InfiniteFuture();
        CountPushes();
      } else {
        answer = failure_;
        answered = TakeAll();
      }
    }
  }
  if (!squares.empty()) {
    exchange_->Add(round, options_.number, options_.stretches, squares,
                   [this](const absl::StatusOr<SquaresTotals>& totals) {
                     ContinueUpdate(totals);
                   });
    return;
  }
  // Called without a lock: they serialise and send.
  for (const PushDone& call : answered) call(answer);
  AnswerWithAll();
}

void SynchronousSlice::AnswerWithAll() {
  std::vector<LatePush> late;
  std::vector<PushDone> pulls;
  WeightAnswer answer;
  {
    // Taken before mu_, so that no answer is older than the version that a call
    // waits for.
    MutexLock weights_lock(&weights_mu_);
    {
      MutexLock lock(&mu_);
      if (!failure_.ok()) return;  // Whoever set failure_ answers the calls.
      // If an update is under way, late pushes wait for its newer weights.
      if (!updating_) late.swap(late_);
      for (WaitingPull& pull : pulls_) {
        if (pull.iterations > answer_.version) continue;
        pulls.push_back(std::move(pull.done));
        pull.done = nullptr;
      }
      pulls_.erase(std::remove_if(pulls_.begin(), pulls_.end(),
                                  [](const WaitingPull& pull) {
                                    return pull.done == nullptr;
                                  }),
                   pulls_.end());
      if (late.empty() && pulls.empty()) return;
      answer = answer_;
    }
    answer.weights.bytes = weights_->All();
    answer.weights.difference = false;
  }
  for (const PushDone& pull : pulls) pull(answer);
  for (const LatePush& push : late) {
    answer.left_out = push.left_out;
    push.done(answer);
  }
}

std::vector<PushDone> SynchronousSlice::TakeAll() {
  std::vector<PushDone> calls;
  for (Worker& worker : workers_) {
    if (worker.pushed) calls.push_back(std::move(worker.done));
    worker.pushed = false;
  }
  for (LatePush& push : late_) calls.push_back(std::move(push.done));
  for (WaitingPull& pull : pulls_) calls.push_back(std::move(pull.done));
  late_.clear();
  pulls_.clear();
  return calls;
}

void SynchronousSlice::Fail(const absl::Status& failure) {
  std::vector<PushDone> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    answered = TakeAll();
  }
  for (const PushDone& call : answered) call(failure);
}

int64_t SynchronousSlice::version() const {
  MutexLock lock(&mu_);
  return initialized_ ? answer_.version : -1;
}

std::set<int> SynchronousSlice::AwaitedRanks() const {
  MutexLock lock(&mu_);
  std::set<int> ranks;
  for (int rank = 0; rank < options_.config->cluster().num_workers(); ++rank) {
    if (!initialized_ ||
        (!workers_[rank].pushed && workers_[rank].next <= answer_.version)) {
      ranks.insert(rank);
    }
  }
  return ranks;
}

}  // namespace ps
