#include "transport/call_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "grpcpp/generic/generic_stub.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

// A push waits for the slowest worker. After this deadline it is sent again;
// the server counts it only once.
constexpr absl::Duration kCallDeadline = absl::Seconds(60);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(50);
constexpr absl::Duration kMaxBackoff = absl::Seconds(1);

}  // namespace

CallPool::CallPool(const ServerLinks* servers, const CallPoolOptions& options)
    : servers_(servers), options_(options) {}

CallPool::~CallPool() {
  MutexLock lock(&mu_);
  for (const auto& entry : running_) entry.first->context->TryCancel();
  while (!running_.empty()) changed_.Wait(&mu_);
}

void CallPool::Wake() {
  MutexLock lock(&mu_);
  changed_.SignalAll();
}

void CallPool::Queue(std::unique_ptr<Call> call, int urgency) {
  const int64_t number = call->push;
  call->server->window()->Add(
      number, static_cast<int64_t>(call->request.Length()), urgency);
  queued_[number] = std::move(call);
}

absl::Status CallPool::Poll(const Done& done) {
  while (std::unique_ptr<Call> call = TakeCompleted()) {
    PS_RETURN_IF_ERROR(Complete(std::move(call), done, /*again=*/false));
  }
  RestartDueCalls();
  StartQueued();
  return absl::OkStatus();
}

void CallPool::StartQueued() {
  for (const auto& server : *servers_) {
    while (const auto number = server->window()->Next()) {
      const auto it = queued_.find(*number);
      Start(std::move(it->second));
      queued_.erase(it);
    }
  }
}

void CallPool::Start(std::unique_ptr<Call> owned) {
  Call* const call = owned.get();
  call->context = std::make_unique<grpc::ClientContext>();
  call->context->set_wait_for_ready(true);
  call->context->set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  call->response.Clear();
  if (call->first_start == absl::InfinitePast()) {
    call->first_start = absl::Now();
    call->backoff = kFirstBackoff;
  }
  {
    MutexLock lock(&mu_);
    running_[call] = std::move(owned);
  }
  const int64_t connection = call->slice == nullptr ? 0 : call->slice->index;
  call->server->data_stub(connection)
      ->UnaryCall(call->context.get(), call->method, grpc::StubOptions(),
                  &call->request, &call->response,
                  [this, call](grpc::Status status) {
                    MutexLock lock(&mu_);
                    call->status = FromGrpcStatus(status);
                    call->end = absl::Now();
                    const auto it = running_.find(call);
                    completed_.push_back(std::move(it->second));
                    running_.erase(it);
                    changed_.SignalAll();
                  });
}

void CallPool::RestartDueCalls() {
  for (size_t i = 0; i < waiting_.size();) {
    if (waiting_[i]->retry_at > absl::Now()) {
      ++i;
      continue;
    }
    std::unique_ptr<Call> call = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + i);
    // A server whose answer to Finish was lost may already be gone.
    const bool over =
        call->slice == nullptr && call->server->attendance().job_done();
    if (!over) Start(std::move(call));
  }
}

std::unique_ptr<Call> CallPool::TakeCompleted() {
  MutexLock lock(&mu_);
  if (completed_.empty()) return nullptr;
  std::unique_ptr<Call> call = std::move(completed_.front());
  completed_.pop_front();
  return call;
}

absl::Status CallPool::Complete(std::unique_ptr<Call> call, const Done& done,
                                bool again) {
  if (call->status.ok()) {
    if (call->push >= 0) call->server->window()->Answered(call->push);
    return Annotate(done(*call), call->server->Name());
  }
  // The connection broke, the server is shutting down, or the deadline passed.
  // Every call here may be repeated.
  if (again || absl::IsUnavailable(call->status) ||
      absl::IsCancelled(call->status) ||
      absl::IsDeadlineExceeded(call->status)) {
    call->retry_at = absl::Now() + call->backoff;
    call->backoff = std::min(2 * call->backoff, kMaxBackoff);
    waiting_.push_back(std::move(call));
    return absl::OkStatus();
  }
  // If a server has announced a failure of the job, that is the reason for the
  // refusal.
  PS_RETURN_IF_ERROR(CheckServers());
  return Annotate(call->status, call->server->Name());
}

absl::Status CallPool::Drain(
    const Done& done, const std::function<bool(const absl::Status&)>& again) {
  const absl::Time start = absl::Now();
  absl::Time say_next = start + options_.patience;
  for (;;) {
    RestartDueCalls();
    StartQueued();
    {
      MutexLock lock(&mu_);
      if (completed_.empty()) {
        if (running_.empty() && waiting_.empty()) return absl::OkStatus();
        // The timeout makes this thread check the clock regularly.
        changed_.WaitUntil(
            &mu_, absl::Now() +
                      (waiting_.empty() ? absl::Seconds(1) : kFirstBackoff));
      }
    }
    std::unique_ptr<Call> call = TakeCompleted();
    if (call == nullptr) {
      PS_RETURN_IF_ERROR(CheckServers());
      if (absl::Now() >= say_next) {
        const std::string awaited = DescribeWhoIsAwaited(*servers_);
        if (!awaited.empty()) LOG(INFO) << "waiting for " << awaited;
        say_next = absl::Now() + options_.patience;
      }
      continue;
    }
    if (call->status.ok()) say_next = absl::Now() + options_.patience;
    const bool starting =
        !call->status.ok() && again != nullptr && again(call->status);
    if (starting && absl::Now() - start > options_.startup_timeout) {
      return Annotate(call->status, call->server->Name());
    }
    PS_RETURN_IF_ERROR(Complete(std::move(call), done, starting));
  }
}

}  // namespace ps
