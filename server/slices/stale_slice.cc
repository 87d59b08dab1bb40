#include "server/slices/stale_slice.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"

namespace ps {

StaleSlice::StaleSlice(const SliceOptions& options)
    : options_(options),
      bounded_(options.config->consistency().mode() ==
                   ConsistencyConfig::STALE_SYNCHRONOUS &&
               // Statistics, which an evaluation averages, make nobody wait.
               options.rule == UpdateRule::kOptimizer),
      bound_(options.config->consistency().staleness()),
      workers_(options.config->cluster().num_workers()) {}

absl::Status StaleSlice::Initialize(const ReceivedPayload& payload) {
  MutexLock weights_lock(&weights_mu_);
  const uint64_t digest = DigestOf(payload.pieces, options_.num_elements);
  {
    MutexLock lock(&mu_);
    PS_RETURN_IF_ERROR(failure_);
    if (initialized_) return CheckFirstWeights(digest, first_digest_);
  }
  PS_ASSIGN_OR_RETURN(weights_, SliceWeights::Create(options_, payload.pieces));
  MutexLock lock(&mu_);
  if (options_.rule == UpdateRule::kMean) last_.resize(workers_.size());
  PS_RETURN_IF_ERROR(failure_);
  first_digest_ = digest;
  initialized_ = true;
  return absl::OkStatus();
}

void StaleSlice::Pull(int rank, int64_t iterations, PushDone done) {
  absl::Status refused = CheckPull(iterations, options_);
  PushDone older;
  {
    MutexLock lock(&mu_);
    refused.Update(failure_);
    if (refused.ok() && !initialized_) refused = NotInitialized();
    if (refused.ok()) {
      workers_[rank].pulled = true;
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
    }
  }
  if (!refused.ok()) {
    done(refused);
    return;
  }
  if (older)
    older(absl::CancelledError("superseded by a newer pull of this worker"));
  Release();
}

absl::Status StaleSlice::Check(const WorkerPush& push) const {
  PS_RETURN_IF_ERROR(failure_);
  if (!initialized_) {
    return absl::FailedPreconditionError(
        "push before the weights were initialised");
  }
  if (options_.rule == UpdateRule::kMean && !push.dense) {
    return absl::InvalidArgumentError(
        "a push of statistics must hold all of them");
  }
  if (workers_[push.rank].gone) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", push.rank, " is gone, and the others go on without it"));
  }
  const int64_t taken = workers_[push.rank].taken;
  if (push.iteration != taken && (taken == 0 || push.iteration != taken - 1)) {
    return absl::FailedPreconditionError(
        absl::StrCat("push for iteration ", push.iteration, " of worker ",
                     push.rank, ", which has done ", taken, " iterations"));
  }
  if (push.base_version < 0 || push.base_version > version_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", push.rank, " says that it holds version ", push.base_version,
        "; this slice is at version ", version_));
  }
  return absl::OkStatus();
}

void StaleSlice::Push(WorkerPush push, PushDone done) {
  PushDone answered;
  absl::Status error =
      absl::CancelledError("superseded by a repeat of the same push");
  bool repeat = false;
  {
    MutexLock lock(&mu_);
    const absl::Status in_order = Check(push);
    if (!in_order.ok()) {
      error = in_order;
      answered = std::move(done);
    } else {
      Worker& worker = workers_[push.rank];
      repeat = push.iteration < worker.taken;
      answered = std::move(worker.done);
      worker.done = std::move(done);
      worker.taken = push.iteration + 1;
      worker.base_version = push.base_version;
    }
  }
  if (answered) answered(error);
  if (!error.ok() && !absl::IsCancelled(error)) return;
  // Returns the worker's credit.
  if (repeat) push.payload = ReceivedPayload();
  if (!repeat) {
    MutexLock weights_lock(&weights_mu_);
    int64_t version = 0;
    {
      MutexLock lock(&mu_);
      version = version_;
    }
    const absl::Time start = absl::Now();
    const absl::StatusOr<UpdatePhases> phases = Update(push, version);
    // Released before the answer, so that the worker has its credit back when
    // the answer arrives.
    push.payload = ReceivedPayload();
    MutexLock lock(&mu_);
    if (!phases.ok()) {
      failure_.Update(phases.status());
    } else {
      ++version_;
      counts_.sent_elements += push.count;
      counts_.bytes_up += push.message_bytes;
      if (push.rank == 0) compress_next_ = push.compress_next;
      Worker& worker = workers_[push.rank];
      worker.applied = push.iteration + 1;
      worker.loss = push.loss;
      worker.start = start;
      worker.end = absl::Now();
      worker.phases = *phases;
      worker.staleness = version - push.base_version;
    }
  }
  Release();
}

absl::StatusOr<UpdatePhases> StaleSlice::Update(const WorkerPush& push,
                                                int64_t version) {
  UpdatePhases phases;
  GradientPayloads gradients;
  std::vector<PayloadPieces> pieces;
  if (options_.rule == UpdateRule::kMean) {
    std::vector<float> values(options_.num_elements);
    DecodeDensePayload(push.payload.pieces, absl::MakeSpan(values));
    last_[push.rank] = EncodeDense(values);
    for (const PayloadBuffer& last : last_) {
      if (last.size_bytes() > 0) pieces.push_back({last.span()});
    }
  } else {
    pieces.push_back(push.payload.pieces);
  }
  for (const PayloadPieces& one : pieces) gradients.payloads.push_back(&one);
  gradients.any_dense = push.dense;
  gradients.all_dense = push.dense;
  gradients.sent_elements = push.count;
  PS_RETURN_IF_ERROR(weights_->Begin(version, gradients, &phases).status());
  return phases;
}

int64_t StaleSlice::Slowest() const {
  int64_t slowest = std::numeric_limits<int64_t>::max();
  for (const Worker& worker : workers_) {
    if (!worker.gone) slowest = std::min(slowest, worker.applied);
  }
  return slowest;
}

void StaleSlice::Release() {
  // A call to answer, with the changes since base_version; -1: all weights.
  struct Released {
    PushDone done;
    int64_t base_version = -1;
    absl::StatusOr<WeightAnswer> answer;
  };
  std::vector<Released> released;
  {
    // Taken before mu_, so that the weights match the version.
    MutexLock weights_lock(&weights_mu_);
    {
      MutexLock lock(&mu_);
      if (!failure_.ok()) {
        for (PushDone& done : TakeAll()) {
          released.push_back({std::move(done), -1, failure_});
        }
      }
      const int64_t slowest = Slowest();
      WeightAnswer answer;
      answer.version = version_;
      answer.mean_loss = MeanLoss();
      answer.compress_next = compress_next_;
      for (Worker& worker : workers_) {
        if (worker.done == nullptr || worker.applied < worker.taken) continue;
        if (bounded_ && slowest < worker.taken - bound_) continue;
        answer.staleness = worker.staleness;
        answer.phases = worker.phases;
        // The time of its own update does not count as waiting.
        answer.complete = worker.start + (absl::Now() - worker.end);
        answer.sent_elements =
            counts_.sent_elements - worker.answered.sent_elements;
        answer.bytes_up = counts_.bytes_up - worker.answered.bytes_up;
        worker.answered = counts_;
        released.push_back(
            {std::move(worker.done), worker.base_version, answer});
        worker.done = nullptr;
      }
      answer = WeightAnswer();
      answer.version = version_;
      const bool starting =
          bounded_ && std::any_of(workers_.begin(), workers_.end(),
                                  [](const Worker& worker) {
                                    return !worker.gone && !worker.pulled &&
                                           worker.taken == 0;
                                  });
      for (WaitingPull& pull : pulls_) {
        if (starting || pull.iterations > slowest) continue;
        released.push_back({std::move(pull.done), -1, answer});
        pull.done = nullptr;
      }
      pulls_.erase(std::remove_if(pulls_.begin(), pulls_.end(),
                                  [](const WaitingPull& pull) {
                                    return pull.done == nullptr;
                                  }),
                   pulls_.end());
    }
    for (Released& one : released) {
      if (!one.answer.ok()) continue;
      if (one.base_version < 0) {
        one.answer->weights.bytes = weights_->All();
        continue;
      }
      absl::StatusOr<DownlinkPayload> changes =
          weights_->Since(one.base_version, &one.answer->phases);
      if (changes.ok()) {
        one.answer->weights = *std::move(changes);
      } else {
        one.answer = changes.status();
      }
    }
  }
  // Called without a lock: they serialise and send.
  for (const Released& one : released) one.done(one.answer);
}

double StaleSlice::MeanLoss() const {
  double sum = 0;
  int64_t count = 0;
  for (const Worker& worker : workers_) {
    if (worker.gone || worker.applied == 0) continue;
    sum += worker.loss;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

void StaleSlice::WorkerGone(int rank) {
  {
    MutexLock lock(&mu_);
    workers_[rank].gone = true;
  }
  Release();
}

std::vector<PushDone> StaleSlice::TakeAll() {
  std::vector<PushDone> calls;
  for (Worker& worker : workers_) {
    if (worker.done != nullptr) calls.push_back(std::move(worker.done));
    worker.done = nullptr;
  }
  for (WaitingPull& pull : pulls_) calls.push_back(std::move(pull.done));
  pulls_.clear();
  return calls;
}

void StaleSlice::Fail(const absl::Status& failure) {
  std::vector<PushDone> answered;
  {
    MutexLock lock(&mu_);
    failure_ = failure;
    answered = TakeAll();
  }
  for (const PushDone& call : answered) call(failure);
}

int64_t StaleSlice::version() const {
  MutexLock lock(&mu_);
  return initialized_ ? version_ : -1;
}

std::set<int> StaleSlice::AwaitedRanks() const {
  MutexLock lock(&mu_);
  std::set<int> ranks;
  const int64_t slowest = Slowest();
  for (int rank = 0; rank < options_.config->cluster().num_workers(); ++rank) {
    if (!initialized_ ||
        (!workers_[rank].gone && workers_[rank].applied == slowest)) {
      ranks.insert(rank);
    }
  }
  return ranks;
}

}  // namespace ps
