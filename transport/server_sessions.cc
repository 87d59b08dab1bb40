#include "transport/server_sessions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// The time limit of the last calls of a worker that gives up, and of the
// question whom a server waits for.
constexpr absl::Duration kShortCall = absl::Seconds(2);

// Whether the call is AskWhoIsAwaited's; other calls of GetStatus are repeated.
bool AsksWhoIsAwaited(const Call& call) {
  return call.rpc == Rpc::kGetStatus && call.once > absl::ZeroDuration();
}

}  // namespace

ServerSessions::ServerSessions(const Clock* clock, absl::Duration patience,
                               Interruption* interruption)
    : clock_(clock), patience_(patience), interruption_(interruption) {
  if (interruption == nullptr) return;
  interruption->Watch([this] {
    MutexLock lock(&mu_);
    changed_ = true;
    news_.SignalAll();
  });
}

ServerSessions::~ServerSessions() {
  if (interruption_ != nullptr) interruption_->Watch(nullptr);
  {
    MutexLock lock(&mu_);
    closing_ = true;
    due_.SignalAll();
  }
  if (keeper_.joinable()) keeper_.Join();
}

void ServerSessions::Add(const ServerSessionOptions& options,
                         std::unique_ptr<ServerChannel> channel) {
  rank_ = options.registration.worker().rank();
  ServerSession::Events events;
  events.done = [this](std::unique_ptr<Call> call) {
    MutexLock lock(&mu_);
    ended_.push_back(std::move(call));
    news_.SignalAll();
  };
  events.changed = [this] {
    if (watch_ != nullptr) watch_();
    MutexLock lock(&mu_);
    changed_ = true;
    changed_for_keeper_ = true;
    news_.SignalAll();
    due_.SignalAll();
  };
  sessions_.push_back(std::make_unique<ServerSession>(
      options, std::move(channel), clock_, std::move(events)));
}

absl::Status ServerSessions::Register(const FinishRequest& finish) {
  keeper_ = Thread("keeper", [this] { Keep(); });
  PS_RETURN_IF_ERROR(AwaitUntil([this] {
    return std::all_of(sessions_.begin(), sessions_.end(),
                       [](const auto& session) {
                         return session->registered() || session->done();
                       });
  }));
  const bool done =
      std::any_of(sessions_.begin(), sessions_.end(), [](const auto& session) {
        return session->done() || session->finished();
      });
  if (!done) return absl::OkStatus();
  for (int server = 0; server < size(); ++server) {
    auto call = std::make_unique<Call>();
    call->rpc = Rpc::kFinish;
    call->request = ToBytes(finish);
    Send(server, std::move(call));
  }
  PS_RETURN_IF_ERROR(Await());
  return absl::CancelledError(
      "the job is done already; to train again, remove the folders of all "
      "processes, or name another checkpoint.directory");
}

void ServerSessions::Keep() {
  for (;;) {
    absl::Time next = absl::InfiniteFuture();
    for (const auto& session : sessions_) {
      next = std::min(next, session->Step());
    }
    MutexLock lock(&mu_);
    // A session may have changed while the lock was not held.
    if (!changed_for_keeper_ && !closing_) {
      due_.WaitFor(&mu_, next - clock_->Now());
    }
    if (closing_) return;
    changed_for_keeper_ = false;
  }
}

void ServerSessions::SetJoinedAfter(int64_t pushes) {
  for (const auto& session : sessions_) session->SetJoinedAfter(pushes);
}

std::vector<int64_t> ServerSessions::joins_at() const {
  std::vector<int64_t> pushes;
  for (const auto& session : sessions_) {
    const std::optional<int64_t> joins = session->joins_at();
    if (joins.has_value()) pushes.push_back(*joins);
  }
  return pushes;
}

bool ServerSessions::reached_any() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session->reached(); });
}

bool ServerSessions::waits_for_any() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) {
                       return session->reached() && !session->registered();
                     });
}

void ServerSessions::Send(int server, std::unique_ptr<Call> call) {
  ++num_under_way_;
  sessions_[server]->Send(std::move(call));
}

std::unique_ptr<Call> ServerSessions::TakeEnded() {
  MutexLock lock(&mu_);
  if (ended_.empty()) return nullptr;
  std::unique_ptr<Call> call = std::move(ended_.front());
  ended_.pop_front();
  return call;
}

std::unique_ptr<Call> ServerSessions::AwaitEnded(absl::Time deadline) {
  {
    MutexLock lock(&mu_);
    while (ended_.empty() && !changed_) {
      const absl::Duration left = deadline - clock_->Now();
      if (left <= absl::ZeroDuration()) return nullptr;
      news_.WaitFor(&mu_, left);
    }
    changed_ = false;
  }
  return TakeEnded();
}

absl::Status ServerSessions::Check() const {
  if (interruption_ != nullptr) PS_RETURN_IF_ERROR(interruption_->why());
  absl::Status lost;
  for (const auto& session : sessions_) {
    const absl::Status failure = session->failure();
    // A server's announcement says more than that another one is gone.
    if (!absl::IsUnavailable(failure)) PS_RETURN_IF_ERROR(failure);
    lost.Update(failure);
  }
  return lost;
}

absl::Status ServerSessions::Handle(const Call& call, const Done& done) {
  --num_under_way_;
  if (AsksWhoIsAwaited(call)) {
    HearWhoIsAwaited(call);
    return absl::OkStatus();
  }
  if (!call.status.ok()) {
    // If a server has announced a failure of the job, that is the reason for
    // the refusal.
    PS_RETURN_IF_ERROR(Check());
    return Annotate(call.status, call.session->Name());
  }
  if (done == nullptr) return absl::OkStatus();
  return Annotate(done(call), call.session->Name());
}

absl::Status ServerSessions::Poll(const Done& done) {
  while (const std::unique_ptr<Call> call = TakeEnded()) {
    PS_RETURN_IF_ERROR(Handle(*call, done));
  }
  return absl::OkStatus();
}

absl::Status ServerSessions::Await(const Done& done) {
  return AwaitUntil([this] { return num_under_way_ == num_asked_; }, done);
}

absl::Status ServerSessions::AwaitUntil(const std::function<bool()>& over,
                                        const Done& done) {
  absl::Time say_next = clock_->Now() + patience_;
  while (!over()) {
    std::unique_ptr<Call> call = TakeEnded();
    if (call == nullptr) {
      PS_RETURN_IF_ERROR(Check());
      call = AwaitEnded(say_next);
    }
    if (call != nullptr) {
      if (!AsksWhoIsAwaited(*call)) say_next = clock_->Now() + patience_;
      PS_RETURN_IF_ERROR(Handle(*call, done));
    } else if (clock_->Now() >= say_next) {
      AskWhoIsAwaited();
      say_next = clock_->Now() + patience_;
    }
  }
  return absl::OkStatus();
}

void ServerSessions::AskWhoIsAwaited() {
  if (num_asked_ > 0) return;
  awaited_.clear();
  for (int server = 0; server < size(); ++server) {
    auto call = std::make_unique<Call>();
    call->rpc = Rpc::kGetStatus;
    call->request = ToBytes(GetStatusRequest());
    call->once = kShortCall;
    ++num_asked_;
    Send(server, std::move(call));
  }
}

std::string ServerSessions::Others(
    const google::protobuf::RepeatedField<int32_t>& ranks) const {
  std::vector<int> others;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(others),
               [this](int rank) { return rank != rank_; });
  return absl::StrJoin(others, ", ");
}

void ServerSessions::HearWhoIsAwaited(const Call& call) {
  const absl::StatusOr<GetStatusResponse> status =
      call.status.ok() ? FromBytes<GetStatusResponse>(call.response)
                       : call.status;
  const std::string name = call.session->Name();
  std::string awaited;
  if (!status.ok()) {
    awaited = absl::StrCat(name, " (", status.status().message(), ")");
  } else if (const std::string ranks = Others(status->missing_ranks());
             !ranks.empty()) {
    awaited = absl::StrCat("worker ", ranks, " (not connected)");
  } else if (const std::string late = Others(status->awaited_ranks());
             !late.empty()) {
    awaited = absl::StrCat("worker ", late, " (last version at ", name, ": ",
                           status->version(), ")");
  }
  // Several servers may miss the same workers.
  if (!awaited.empty() &&
      std::find(awaited_.begin(), awaited_.end(), awaited) == awaited_.end()) {
    awaited_.push_back(awaited);
  }
  if (--num_asked_ > 0 || awaited_.empty()) return;
  LOG(INFO) << "waiting for " << absl::StrJoin(awaited_, "; ");
}

absl::Status ServerSessions::TellAll(const FinishRequest& request,
                                     bool only_registered) {
  int left = 0;
  for (const auto& session : sessions_) {
    if (only_registered && !session->registered()) continue;
    if (!request.failure().empty() && !session->failure().ok()) continue;
    ++left;
    auto call = std::make_unique<Call>();
    call->rpc = Rpc::kFinish;
    call->request = ToBytes(request);
    call->once = kShortCall;
    session->Send(std::move(call));
  }
  absl::Status first_error;
  const absl::Time deadline = clock_->Now() + 2 * kShortCall;
  while (left > 0 && clock_->Now() < deadline) {
    const std::unique_ptr<Call> call = AwaitEnded(deadline);
    if (call == nullptr || call->rpc != Rpc::kFinish ||
        call->once == absl::ZeroDuration()) {
      continue;
    }
    first_error.Update(Annotate(call->status, call->session->Name()));
    --left;
  }
  return first_error;
}

}  // namespace ps
