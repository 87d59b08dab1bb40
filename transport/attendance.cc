#include "transport/attendance.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

// Every RPC has a deadline; this call is reopened when it passes.
constexpr absl::Duration kRenewAfter = absl::Hours(1);

}  // namespace

class Attendance::Call final : public grpc::ClientReadReactor<AttendEvent> {
 public:
  explicit Call(Attendance* owner) : owner_(owner) {
    request_.mutable_worker()->CopyFrom(owner->worker_);
    // Waits for the connection instead of failing repeatedly until there is
    // one.
    context_.set_wait_for_ready(true);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kRenewAfter));
  }

  void Start() {
    owner_->stub_->async()->Attend(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) owner_->OnAccepted();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    owner_->OnEvent(event_);
    StartRead(&event_);
  }

  void OnDone(const grpc::Status& status) override {
    // The owner may cancel this call until OnClosed has reset its pointer, so
    // the call deletes itself only after that. The owner may be gone when
    // OnClosed returns.
    owner_->OnClosed(FromGrpcStatus(status));
    delete this;
  }

 private:
  Attendance* const owner_;
  grpc::ClientContext context_;
  AttendRequest request_;
  AttendEvent event_;
};

Attendance::Attendance(ParameterServer::Stub* stub, const WorkerId& worker,
                       std::function<void()> changed)
    : stub_(stub),
      worker_(worker),
      changed_(std::move(changed)),
      broken_since_(absl::Now()) {
  MutexLock lock(&mu_);
  Open();
}

Attendance::~Attendance() {
  MutexLock lock(&mu_);
  closing_ = true;
  if (call_ != nullptr) call_->Cancel();
  while (call_ != nullptr) closed_.Wait(&mu_);
}

absl::Status Attendance::failure() const {
  MutexLock lock(&mu_);
  return failure_;
}

bool Attendance::job_done() const {
  MutexLock lock(&mu_);
  return job_done_;
}

absl::Time Attendance::broken_since() const {
  MutexLock lock(&mu_);
  return broken_since_;
}

void Attendance::Open() {
  call_ = new Call(this);
  // gRPC runs callbacks on its own threads, never inside Start, so mu_ may be
  // held.
  call_->Start();
}

void Attendance::OnAccepted() {
  MutexLock lock(&mu_);
  broken_since_ = absl::InfiniteFuture();
  if (!closing_) changed_();
}

void Attendance::OnEvent(const AttendEvent& event) {
  MutexLock lock(&mu_);
  failure_ = absl::AbortedError(event.failure());
  if (!closing_) changed_();
}

void Attendance::OnClosed(const absl::Status& status) {
  MutexLock lock(&mu_);
  call_ = nullptr;
  if (status.ok()) {
    job_done_ = failure_.ok();
    broken_since_ = absl::InfiniteFuture();
  } else if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
             absl::IsCancelled(status)) {
    if (broken_since_ == absl::InfiniteFuture()) broken_since_ = absl::Now();
    if (!closing_ && failure_.ok()) Open();
  } else if (failure_.ok()) {
    failure_ = status;
  }
  if (!closing_) changed_();
  closed_.SignalAll();
}

}  // namespace ps
