#include "transport/server_session.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

// The time limit of an attempt to register, which is short work.
constexpr absl::Duration kRegisterTimeout = absl::Seconds(2);
// A call is answered when the slowest worker has come as far, and signs of life
// tell whether the server still can; so it is rarely sent again.
constexpr absl::Duration kCallTimeout = absl::Minutes(10);
// Every RPC has a deadline; attendance is renewed when it passes.
constexpr absl::Duration kAttendTimeout = absl::Hours(1);
// A connection that is silent for this long is sent a keepalive request, which
// may take the second time: a busy server is not a lost one.
constexpr absl::Duration kSilence = absl::Seconds(10);
constexpr absl::Duration kSignOfLifeTimeout = absl::Seconds(5);
constexpr absl::Duration kFirstDelay = absl::Milliseconds(50);
constexpr absl::Duration kLongestDelay = absl::Seconds(1);
// The longest delay of pushes and initial weights, which are large.
constexpr absl::Duration kLongestDataDelay = absl::Seconds(10);
constexpr absl::Duration kCloseTimeout = absl::Seconds(5);

// Whether the error may be temporary: the server could not be reached, is
// shutting down, cannot answer yet, or did not answer in time.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

bool CarriesData(const Call& call) {
  return call.rpc == Rpc::kPush || call.rpc == Rpc::kInitializeSlice;
}

std::string Seconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

}  // namespace

ServerSession::ServerSession(const ServerSessionOptions& options,
                             std::unique_ptr<ServerChannel> channel,
                             const Clock* clock, Events events)
    : options_(options),
      channel_(std::move(channel)),
      clock_(clock),
      events_(std::move(events)),
      jitter_(RandomKey(options.registration.worker().incarnation(),
                        options.registration.server_index())),
      starting_since_(clock->Now()),
      connections_(1 + options.data_connections),
      window_(options.credit_bytes),
      stage_window_(options.credit_bytes) {}

ServerSession::~ServerSession() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
  }
  channel_->Close(kCloseTimeout);
}

std::string ServerSession::Name() const {
  return absl::StrCat("server ", options_.registration.server_index(), " at ",
                      options_.address);
}

bool ServerSession::registered() const {
  MutexLock lock(&mu_);
  return registered_;
}

bool ServerSession::reached() const {
  MutexLock lock(&mu_);
  return reached_;
}

bool ServerSession::done() const {
  MutexLock lock(&mu_);
  return job_done_;
}

bool ServerSession::finished() const {
  MutexLock lock(&mu_);
  return welcome_.has_value() && welcome_->finished();
}

void ServerSession::SetJoinedAfter(int64_t pushes) {
  MutexLock lock(&mu_);
  joined_after_ = pushes;
}

std::optional<int64_t> ServerSession::joins_at() const {
  MutexLock lock(&mu_);
  return welcome_.has_value() && welcome_->joins()
             ? std::optional<int64_t>(welcome_->joins_at())
             : std::nullopt;
}

absl::Status ServerSession::last_error() const {
  MutexLock lock(&mu_);
  return last_error_;
}

absl::Status ServerSession::failure() const {
  MutexLock lock(&mu_);
  return failure_;
}

void ServerSession::Fail(const absl::Status& failure) {
  if (failure_.ok()) failure_ = failure;
  if (!closing_) events_.changed();
}

// Half of a delay is random, so that workers that a server has refused at the
// same time do not come back at the same time.
absl::Duration ServerSession::Delay(int attempts, absl::Duration longest) {
  const absl::Duration delay = kFirstDelay * (1 << std::min(attempts, 10));
  return std::min(delay, longest) * jitter_.Uniform(0.5, 1);
}

absl::Time ServerSession::Step() {
  const absl::Cleanup start = [this] { StartCalls(); };
  MutexLock lock(&mu_);
  Advance();
  if (over()) return absl::InfiniteFuture();
  const absl::Duration timeout = options_.lost_server_timeout;
  absl::Time next = absent_since_ + timeout;
  if (!welcome_.has_value()) {
    next = std::min(next, starting_since_ + options_.startup_timeout);
  }
  if (!registered_) {
    return registering_ ? next : std::min(next, register_at_);
  }
  for (const Connection& connection : connections_) {
    if (!connection.asked) next = std::min(next, connection.ask_at);
    next = std::min(next, connection.broken_since +
                              (connection.reopened ? timeout : timeout / 2));
  }
  return waiting_.empty() ? next : std::min(next, waiting_.begin()->first);
}

void ServerSession::Advance() {
  const absl::Time now = clock_->Now();
  if (!over()) CheckTimeouts(now);
  if (job_done_) {
    // A server whose answer to Finish was lost may already be gone.
    while (!waiting_.empty()) {
      std::unique_ptr<Call> call = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      call->status = call->rpc == Rpc::kFinish
                         ? absl::OkStatus()
                         : absl::UnavailableError("the job is over");
      Deliver(std::move(call));
    }
  }
  if (over()) return;
  if (!registered_) {
    if (!registering_ && register_at_ <= now) Register();
    return;
  }
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    std::unique_ptr<Call> call = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    Start(std::move(call));
  }
  while (const std::optional<int64_t> number = window_.Next(now)) {
    Start(std::move(queued_.extract(*number).mapped()));
  }
  while (const std::optional<int64_t> number = stage_window_.Next()) {
    Start(std::move(queued_.extract(*number).mapped()));
  }
  for (size_t i = 0; i < connections_.size(); ++i) {
    if (!connections_[i].asked && connections_[i].ask_at <= now) {
      Ask(static_cast<int>(i));
    }
  }
}

void ServerSession::CheckTimeouts(absl::Time now) {
  if (!welcome_.has_value() &&
      now >= starting_since_ + options_.startup_timeout) {
    const std::string field = absl::StrCat(
        "cluster.servers[", options_.registration.server_index(), "]");
    const absl::string_view error = last_error_.message();
    std::string why;
    // gRPC's text about DNS names its library's codes.
    if (absl::StartsWith(error, "DNS resolution failed")) {
      why = absl::StrCat("; its host has no address: is the name in ", field,
                         " right, and known to DNS here?");
    } else if (absl::StrContains(error, "certificate verify failed")) {
      why = absl::StrCat(
          " (", error,
          "): it runs, and its certificate is not of the authority in this "
          "process's security.directory, or is not valid today. Give all "
          "processes files that the same `gradsieve certs` has made");
    } else if (absl::StrContains(error, "wrong version number")) {
      why = absl::StrCat(" (", error,
                         "): what listens there does not speak TLS; it is "
                         "another program, or a server with security.mode "
                         "INSECURE. Is ",
                         field, " the server's address?");
    } else {
      why = absl::StrCat(" (", error,
                         reached_
                             ? ")"
                             : absl::StrCat("); is it running there, and is ",
                                            field, " its address?"));
    }
    Fail(absl::DeadlineExceededError(
        absl::StrCat(Name(),
                     reached_ ? " has not admitted this worker within "
                              : " cannot be reached after ",
                     absl::FormatDuration(options_.startup_timeout), why)));
  }
  if (now - absent_since_ >= options_.lost_server_timeout) {
    Fail(absl::UnavailableError(absl::StrCat(
        Name(), " has not answered for ", Seconds(now - absent_since_),
        "; it has stopped, or the network to it is down. Look at its log, then "
        "start the job again")));
  }
  // Without a registration, absent_since_ counts.
  if (!registered_) return;
  for (size_t i = 0; i < connections_.size(); ++i) {
    Connection& connection = connections_[i];
    const absl::Duration broken = now - connection.broken_since;
    if (broken >= options_.lost_server_timeout) {
      Fail(absl::UnavailableError(
          absl::StrCat(Name(), " has not answered for ", Seconds(broken),
                       " on connection ", i, " of ", connections_.size() - 1,
                       "; if it answers on others, the "
                       "network loses what is sent on this one")));
    } else if (broken >= options_.lost_server_timeout / 2 &&
               !connection.reopened) {
      connection.reopened = true;
      channel_->Open(static_cast<int>(i));
    }
  }
}

void ServerSession::Register() {
  registering_ = true;
  RegisterRequest registration = options_.registration;
  if (welcome_.has_value()) registration.set_epoch(welcome_->epoch());
  registration.set_joined_after(joined_after_);
  RpcRequest request;
  request.rpc = Rpc::kRegister;
  request.message = ToBytes(registration);
  request.timeout = kRegisterTimeout;
  channel_->Start(request, [this](absl::StatusOr<grpc::ByteBuffer> result) {
    OnRegistered(std::move(result));
  });
}

void ServerSession::OnRegistered(absl::StatusOr<grpc::ByteBuffer> result) {
  const absl::Cleanup start = [this] { StartCalls(); };
  MutexLock lock(&mu_);
  registering_ = false;
  if (over()) return;
  auto welcome = FromBytes<RegisterResponse>(std::move(result));
  if (!welcome.ok()) {
    last_error_ = welcome.status();
    if (!MayPass(last_error_)) {
      Fail(Annotate(last_error_, Name()));
      return;
    }
    register_at_ = clock_->Now() + Delay(register_attempts_++, kLongestDelay);
    events_.changed();
    return;
  }
  if (welcome->done()) {
    job_done_ = true;
    events_.changed();
    return;
  }
  reached_ = true;
  if (welcome->recovering() || !welcome->not_yet().empty()) {
    // The server is alive, however long its log is.
    absent_since_ = clock_->Now();
    if (welcome->recovering()) starting_since_ = clock_->Now();
    last_error_ = absl::UnavailableError(
        welcome->recovering()
            ? "it reads its log, or waits for workers that know it"
            : welcome->not_yet());
    register_at_ = clock_->Now() + Delay(register_attempts_++, kLongestDelay);
    events_.changed();
    return;
  }
  if (welcome_.has_value() && welcome_->epoch() != welcome->epoch()) {
    Fail(absl::UnavailableError(
        absl::StrCat(Name(),
                     " was restarted, and the weights are gone; start the job "
                     "again, which goes on from its latest snapshot if it "
                     "keeps any")));
    return;
  }
  if (!welcome_.has_value()) {
    window_.SetCredit(welcome->credit_bytes(),
                      welcome->needs_whole_iterations());
    for (size_t i = 1; i < connections_.size(); ++i) {
      channel_->Open(static_cast<int>(i));
    }
  }
  welcome_ = *std::move(welcome);
  registered_ = true;
  for (size_t i = 0; i < connections_.size(); ++i) Heard(static_cast<int>(i));
  RetryNow();
  Attend();
  Advance();
  events_.changed();
}

void ServerSession::Attend() {
  // Until the call is accepted, the worker may be absent for the server.
  absent_since_ = std::min(absent_since_, clock_->Now());
  AttendRequest request;
  *request.mutable_worker() = options_.registration.worker();
  AttendHandler handler;
  const int64_t attendance = ++attendance_;
  handler.accepted = [this, attendance] { OnAccepted(attendance); };
  handler.event = [this](const AttendEvent& event) {
    MutexLock lock(&mu_);
    Fail(Annotate(event.can_go_on() ? absl::UnavailableError(event.failure())
                                    : absl::AbortedError(event.failure()),
                  Name()));
  };
  handler.closed = [this, attendance](const absl::Status& status) {
    OnClosed(attendance, status);
  };
  channel_->Attend(request, kAttendTimeout, std::move(handler));
}

void ServerSession::OnAccepted(int64_t attendance) {
  MutexLock lock(&mu_);
  if (attendance != attendance_) return;
  absent_since_ = absl::InfiniteFuture();
  register_attempts_ = 0;
}

void ServerSession::OnClosed(int64_t attendance, const absl::Status& status) {
  MutexLock lock(&mu_);
  if (attendance != attendance_ || over()) return;
  if (status.ok()) {
    job_done_ = true;
    Advance();
  } else if (MayPass(status) || absl::IsUnauthenticated(status)) {
    RegisterAgain();
  } else {
    Fail(Annotate(status, Name()));
  }
  events_.changed();
}

void ServerSession::RegisterAgain() {
  const absl::Time now = clock_->Now();
  absent_since_ = std::min(absent_since_, now);
  if (!registered_) return;
  registered_ = false;
  register_at_ = now + Delay(register_attempts_++, kLongestDelay);
}

void ServerSession::Send(std::unique_ptr<Call> call) {
  const absl::Cleanup start = [this] { StartCalls(); };
  MutexLock lock(&mu_);
  call->session = this;
  if (call->once > absl::ZeroDuration()) {
    Start(std::move(call));
    return;
  }
  if (CarriesData(*call)) {
    call->number = next_number_++;
    window_.Add(call->number, static_cast<int64_t>(call->request.Length()),
                call->urgency);
    queued_[call->number] = std::move(call);
  } else if (call->rpc == Rpc::kAuxPut) {
    call->number = next_number_++;
    stage_window_.Add(call->number, call->stage_stream, call->kept_bytes);
    queued_[call->number] = std::move(call);
  } else {
    waiting_.emplace(absl::InfinitePast(), std::move(call));
  }
  Advance();
}

void ServerSession::Start(std::unique_ptr<Call> owned) {
  Call* const call = owned.get();
  if (call->start == absl::InfinitePast()) call->start = clock_->Now();
  ++call->attempts;
  running_[call] = std::move(owned);
  starting_.push_back(call);
}

void ServerSession::StartCalls() {
  std::vector<Call*> starting;
  {
    MutexLock lock(&mu_);
    if (!closing_) starting.swap(starting_);
  }
  for (Call* const call : starting) {
    RpcRequest request;
    request.rpc = call->rpc;
    request.message = call->request;
    request.timeout =
        call->once > absl::ZeroDuration() ? call->once : kCallTimeout;
    if (call->slice != nullptr) {
      request.connection =
          1 + static_cast<int>(call->slice->place % options_.data_connections);
    }
    channel_->Start(request, [this, call, connection = request.connection](
                                 absl::StatusOr<grpc::ByteBuffer> result) {
      OnAnswer(call, connection, std::move(result));
    });
  }
}

void ServerSession::OnAnswer(Call* running, int connection,
                             absl::StatusOr<grpc::ByteBuffer> result) {
  const absl::Cleanup start = [this] { StartCalls(); };
  MutexLock lock(&mu_);
  std::unique_ptr<Call> call = std::move(running_.extract(running).mapped());
  if (closing_) return;
  const absl::Time now = clock_->Now();
  call->end = now;
  call->status = result.status();
  if (result.ok()) call->response = *std::move(result);
  if (!MayPass(call->status)) {
    Heard(connection);
  } else if (call->once == absl::ZeroDuration()) {
    connections_[connection].ask_at = now;
  }
  if (!ToBeRepeated(call.get())) {
    Deliver(std::move(call));
  } else {
    const absl::Duration delay =
        Delay(call->attempts - 1,
              CarriesData(*call) ? kLongestDataDelay : kLongestDelay);
    waiting_.emplace(now + delay, std::move(call));
    events_.changed();
  }
  Advance();
}

bool ServerSession::ToBeRepeated(Call* call) {
  if (call->once > absl::ZeroDuration() || call->status.ok()) return false;
  if (absl::IsUnauthenticated(call->status)) {
    RegisterAgain();
    return true;
  }
  if (!MayPass(call->status)) return false;
  call->first_failure = std::min(call->first_failure, call->end);
  if (call->end - call->first_failure < call->patience) return true;
  // The server is missing, however the last attempt ended.
  call->status = absl::UnavailableError(call->status.message());
  return false;
}

void ServerSession::Deliver(std::unique_ptr<Call> call) {
  if (call->rpc == Rpc::kAuxPut) {
    stage_window_.Answered(call->number);
  } else if (call->number >= 0) {
    window_.Answered(call->number, clock_->Now());
  }
  if (call->done != nullptr) {
    const auto done = std::exchange(call->done, nullptr);
    done(std::move(call));
  } else {
    events_.done(std::move(call));
  }
}

void ServerSession::RetryNow() {
  std::multimap<absl::Time, std::unique_ptr<Call>> waiting;
  for (auto& entry : waiting_) {
    waiting.emplace(absl::InfinitePast(), std::move(entry.second));
  }
  waiting_ = std::move(waiting);
}

void ServerSession::Ask(int connection) {
  connections_[connection].asked = true;
  GetStatusRequest sign_of_life;
  sign_of_life.set_sign_of_life(true);
  RpcRequest request;
  request.rpc = Rpc::kGetStatus;
  request.connection = connection;
  request.message = ToBytes(sign_of_life);
  request.timeout = kSignOfLifeTimeout;
  channel_->Start(
      request, [this, connection](absl::StatusOr<grpc::ByteBuffer> result) {
        const absl::Cleanup start = [this] { StartCalls(); };
        MutexLock lock(&mu_);
        Connection& asked = connections_[connection];
        asked.asked = false;
        if (!MayPass(result.status())) {
          Heard(connection);
          Advance();
        } else {
          const absl::Time now = clock_->Now();
          asked.broken_since = std::min(asked.broken_since, now);
          asked.ask_at = now + Delay(asked.attempts++, kLongestDelay);
        }
        if (!closing_) events_.changed();
      });
}

void ServerSession::Heard(int connection) {
  Connection& heard = connections_[connection];
  if (heard.broken_since != absl::InfiniteFuture()) RetryNow();
  heard.broken_since = absl::InfiniteFuture();
  heard.reopened = false;
  heard.attempts = 0;
  heard.ask_at = clock_->Now() + kSilence;
}

}  // namespace ps
