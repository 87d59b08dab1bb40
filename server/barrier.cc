#include "server/barrier.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

void Respond(HeldCall* call, const absl::StatusOr<grpc::ByteBuffer>& answer) {
  if (answer.ok()) {
    call->Respond(*answer);
  } else {
    call->Respond(answer.status());
  }
}

}  // namespace

Barrier::Barrier(int num_workers, Release release)
    : num_workers_(num_workers), release_(std::move(release)) {}

absl::Status Barrier::Arrive(int rank, int64_t number,
                             std::shared_ptr<HeldCall> call) {
  absl::StatusOr<grpc::ByteBuffer> answer = absl::CancelledError("repeated");
  absl::Status different;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) {
      answer = failure_;
    } else if (last_.has_value() && number <= *last_) {
      // The call is a repeat, or the worker replays earlier generations.
      answer = answer_;
    } else {
      if (!waiting_.empty() && number != next_) {
        different = absl::FailedPreconditionError(
            absl::StrCat("worker ", rank, " has made ", number,
                         " pushes, and others have made ", next_));
      } else {
        next_ = number;
      }
      // The repeat replaces an earlier call of this worker.
      std::swap(waiting_[rank], call);
    }
  }
  if (call != nullptr) Respond(call.get(), answer);
  if (different.ok()) Advance();
  return different;
}

void Barrier::Remember(int64_t number, const grpc::ByteBuffer& answer) {
  MutexLock lock(&mu_);
  last_ = number;
  answer_ = answer;
}

void Barrier::WorkerGone(int rank) {
  {
    MutexLock lock(&mu_);
    gone_.insert(rank);
  }
  Advance();
}

void Barrier::WorkerJoins(int rank, int64_t number) {
  {
    MutexLock lock(&mu_);
    gone_.erase(rank);
    joined_[rank] = number;
    // The worker's previous process may have left a call.
    waiting_.erase(rank);
  }
  Advance();
}

bool Barrier::WorkerHasJoined(int rank, int64_t number) {
  {
    MutexLock lock(&mu_);
    if (!joined_.emplace(rank, number).second) return false;
  }
  Advance();
  return true;
}

bool Barrier::AllArrived() const {
  for (int rank = 0; rank < num_workers_; ++rank) {
    const auto joined = joined_.find(rank);
    if (waiting_.count(rank) == 0 && gone_.count(rank) == 0 &&
        (joined == joined_.end() || next_ > joined->second)) {
      return false;
    }
  }
  return !waiting_.empty();
}

void Barrier::Advance() {
  int64_t number = 0;
  {
    MutexLock lock(&mu_);
    if (under_way_ || !failure_.ok() || !AllArrived()) return;
    under_way_ = true;
    number = next_;
  }
  Answer(release_(number));
}

void Barrier::Fail(const absl::Status& failure) { Answer(failure); }

void Barrier::Answer(const absl::StatusOr<grpc::ByteBuffer>& answer) {
  std::map<int, std::shared_ptr<HeldCall>> waiting;
  {
    MutexLock lock(&mu_);
    waiting.swap(waiting_);
    under_way_ = false;
    if (answer.ok()) {
      last_ = next_;
      answer_ = *answer;
    } else if (failure_.ok()) {
      failure_ = answer.status();
    }
  }
  for (const auto& entry : waiting) Respond(entry.second.get(), answer);
}

}  // namespace ps
