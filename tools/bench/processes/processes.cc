#include "tools/bench/processes/processes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "tools/bench/processes/peer.h"
#include "tools/process/find_program.h"

namespace ps {
namespace {

// Time between two checks whether an awaited file exists.
constexpr absl::Duration kTick = absl::Milliseconds(20);
// How long processes may take to end after the last work.
constexpr absl::Duration kEnd = absl::Seconds(30);

// Lines of glog begin with their severity.
bool IsError(absl::string_view line) {
  return !absl::StartsWith(line, "I") && !absl::StartsWith(line, "W");
}

}  // namespace

BenchProcesses::BenchProcesses(std::unique_ptr<Interrupts> interrupts,
                               std::unique_ptr<TemporaryDirectory> directory)
    : interrupts_(std::move(interrupts)),
      directory_(std::move(directory)),
      children_(SubprocessCallbacks{
          [this](int child, OutputStream stream, absl::string_view line) {
            TakeLine(child, stream, line);
          },
          [this](int child, const ProcessExit& exit) {
            TakeExit(child, exit);
          }}) {}

absl::StatusOr<std::unique_ptr<BenchProcesses>> BenchProcesses::Create() {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Interrupts> interrupts,
                      Interrupts::Create());
  PS_ASSIGN_OR_RETURN(std::unique_ptr<TemporaryDirectory> directory,
                      TemporaryDirectory::Create());
  return std::unique_ptr<BenchProcesses>(
      new BenchProcesses(std::move(interrupts), std::move(directory)));
}

absl::StatusOr<int> BenchProcesses::Start(
    const std::string& name, const std::vector<std::string>& arguments) {
  const absl::StatusOr<int> child =
      children_.Start(arguments, kOwnNetwork, kLineInput);
  if (!child.ok()) return Annotate(child.status(), name);
  members_[*child].name = name;
  return *child;
}

absl::StatusOr<int> BenchProcesses::StartPeer(
    const std::string& name, const std::string& subject,
    const std::vector<std::string>& arguments) {
  PS_ASSIGN_OR_RETURN(std::string program, OwnProgram());
  std::vector<std::string> command = {std::move(program), "bench", subject,
                                      kPeer};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Start(name, command);
}

void BenchProcesses::TakeLine(int child, OutputStream stream,
                              absl::string_view line) {
  Member& member = members_[child];
  if (stream == OutputStream::kStdout) {
    member.replies.emplace_back(line);
  } else if (IsError(line)) {
    const size_t text = line.find("] ");
    member.last_error = std::string(
        text == absl::string_view::npos ? line : line.substr(text + 2));
  }
}

void BenchProcesses::TakeExit(int child, const ProcessExit& exit) {
  if (!failure_.ok() || (ending_ && exit.ok())) return;
  const Member& member = members_[child];
  std::string reason = member.last_error;
  // A peer reports an error before it ends.
  if (!member.replies.empty()) {
    const auto reply = ParseReply(member.replies.back());
    if (!reply.ok()) reason = std::string(reply.status().message());
  }
  failure_ = absl::AbortedError(
      absl::StrCat(member.name, " ", DescribeExit(exit),
                   reason.empty() ? "" : absl::StrCat(": ", reason)));
}

absl::Status BenchProcesses::Poll(absl::Time deadline) {
  PS_RETURN_IF_ERROR(failure_);
  PS_RETURN_IF_ERROR(
      children_.Poll(std::min(deadline, next_call_), interrupts_->fd()));
  if (interrupts_->Take() > 0) return absl::CancelledError("interrupted");
  const absl::Time now = SteadyClock()->Now();
  if (now >= next_call_) {
    // Not next_call_ + period_, because missed calls are not made up for.
    next_call_ = now + period_;
    periodic_();
  }
  return failure_;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> BenchProcesses::AwaitReplies(
    const std::vector<int>& children) {
  std::vector<std::vector<int64_t>> replies;
  for (const int child : children) {
    Member& member = members_[child];
    while (member.replies.empty()) {
      if (!children_.is_running(child)) {
        return absl::AbortedError(
            absl::StrCat(member.name, " has ended without an answer"));
      }
      PS_RETURN_IF_ERROR(Poll(absl::InfiniteFuture()));
    }
    const absl::StatusOr<std::vector<int64_t>> reply =
        ParseReply(member.replies.front());
    if (!reply.ok()) return Annotate(reply.status(), member.name);
    replies.push_back(*reply);
    member.replies.erase(member.replies.begin());
  }
  return replies;
}

void BenchProcesses::Send(const std::vector<int>& children,
                          const PeerRequest& request) {
  // If a child has ended, Poll reports it.
  for (const int child : children) {
    children_.Send(child, FormatRequest(request));
  }
}

absl::StatusOr<std::vector<std::vector<int64_t>>> BenchProcesses::Ask(
    const std::vector<int>& children, const PeerRequest& request) {
  Send(children, request);
  return AwaitReplies(children);
}

absl::Status BenchProcesses::Check(const std::vector<int>& children,
                                   int64_t pushes) {
  return Annotate(Ask(children, {PeerRequest::kCheck, pushes}).status(),
                  "verification failed");
}

absl::StatusOr<std::string> BenchProcesses::AwaitFile(const std::string& path,
                                                      absl::Duration timeout) {
  const absl::Time deadline = SteadyClock()->Now() + timeout;
  for (;;) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!absl::IsNotFound(text.status())) return text;
    if (SteadyClock()->Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          path, " is not there after ", absl::FormatDuration(timeout)));
    }
    PS_RETURN_IF_ERROR(Poll(SteadyClock()->Now() + kTick));
  }
}

absl::StatusOr<CpuTime> BenchProcesses::CpuTimeOfAll(
    const std::vector<int>& children, const CpuTime& before) const {
  CpuTime sum;
  for (const int child : children) {
    PS_ASSIGN_OR_RETURN(const CpuTime time, CpuTimeOf(children_.pid(child)));
    sum += time;
  }
  sum -= before;
  return sum;
}

absl::StatusOr<int64_t> BenchProcesses::ResidentBytes(int child) const {
  return ResidentBytesOf(children_.pid(child));
}

void BenchProcesses::CallEvery(absl::Duration period,
                               std::function<void()> call) {
  periodic_ = std::move(call);
  period_ = period;
  next_call_ = periodic_ ? SteadyClock()->Now() : absl::InfiniteFuture();
}

absl::Status BenchProcesses::AwaitEnd(absl::Duration timeout) {
  ExpectEnd();
  for (const auto& [child, member] : members_) children_.CloseInput(child);
  const absl::Time deadline = SteadyClock()->Now() + timeout;
  while (children_.num_running() > 0) {
    if (SteadyClock()->Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(children_.num_running(), " processes have not ended ",
                       absl::FormatDuration(timeout), " after the last work"));
    }
    PS_RETURN_IF_ERROR(Poll(deadline));
  }
  return failure_;
}

absl::Status BenchProcesses::Finish(const std::vector<int>& children) {
  ExpectEnd();
  PS_RETURN_IF_ERROR(
      Ask(children, {PeerRequest::kFinish, /*count=*/0}).status());
  return AwaitEnd(kEnd);
}

}  // namespace ps
