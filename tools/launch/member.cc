#include "tools/launch/member.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/launch/remote_command.h"

namespace ps {
namespace {

// sshd refuses some of more than ten logins at the same time (MaxStartups).
constexpr int kLoginsAtOnce = 8;

}  // namespace

std::vector<Member> Member::Of(const LaunchedJob& job, bool goes_on,
                               absl::Time now) {
  std::vector<Member> members;
  std::map<std::string, int> logins;
  for (const PlacedProcess& process : job.processes) {
    Member member;
    member.kind_ = process.is_server() ? Kind::kServer : Kind::kWorker;
    member.number_ = process.number;
    member.host_ = job.HostOf(process).name;
    member.name_ = absl::StrCat(process.name(), "@", member.host_);
    member.arguments_ = StartArguments(job, process);
    member.log_path_ =
        absl::StrCat(job.run_directory, "/logs/", process.name(), ".log");
    member.continues_log_ = goes_on;
    member.start_at_ =
        now + absl::Seconds(logins[member.host_]++ / kLoginsAtOnce);
    members.push_back(std::move(member));
  }
  Member metrics;
  metrics.host_ = job.HostOfWorker0().name;
  metrics.name_ = absl::StrCat("metrics@", metrics.host_);
  metrics.arguments_ = FollowMetricsArguments(job);
  metrics.start_at_ = now;
  members.push_back(std::move(metrics));
  return members;
}

std::string Member::process_name() const {
  return name_.substr(0, name_.find('@'));
}

absl::StatusOr<int> Member::Start(Subprocesses* children) {
  if (!log_path_.empty()) {
    log_ = ProcessLog();
    PS_RETURN_IF_ERROR(log_.Open(log_path_, continues_log_));
    continues_log_ = true;
  }
  last_line_.clear();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a pipe");
  }
  const UniqueFd reader(ends[0]);
  input_ = UniqueFd(ends[1]);
  PS_ASSIGN_OR_RETURN(const int child,
                      children->Start(arguments_, kOwnNetwork, reader.get()));
  state_ = State::kRuns;
  return child;
}

void Member::Take(absl::string_view line) {
  if (!log_path_.empty()) log_.Take(line);
  last_line_ = std::string(line);
}

void Member::Ask() {
  // A pipe has room for it; an error means that the child has just ended.
  const ssize_t ignored = write(input_.get(), "\n", 1);
  static_cast<void>(ignored);
}

void Member::Ended(const ProcessExit& exit) {
  input_.Close();
  exit_ = exit;
  state_ = exit.ok() ? State::kDone : State::kFailed;
}

void Member::StartAgainAt(absl::Time time) {
  state_ = State::kWaits;
  start_at_ = time;
}

std::string Member::DescribeEnd() const {
  // What ssh says comes last.
  const std::string& said = is_reachable() ? log_.last_error() : last_line_;
  return absl::StrCat(name_, " ",
                      is_reachable() ? DescribeExit(exit_) : "was lost",
                      said.empty() ? "" : ": ", said);
}

bool Member::is_reachable() const {
  return exit_.signal == 0 && exit_.code != kExitSshFailed;
}

}  // namespace ps
