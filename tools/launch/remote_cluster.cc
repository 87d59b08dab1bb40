#include "tools/launch/remote_cluster.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "common/exit_codes.h"
#include "common/status_macros.h"
#include "tools/command_line/progress.h"
#include "tools/launch/hang_watch.h"
#include "tools/launch/member.h"
#include "tools/launch/metrics_copy.h"
#include "tools/launch/restarts.h"
#include "tools/process/failed_processes.h"
#include "tools/process/metrics_follower.h"
#include "tools/process/process_log.h"
#include "tools/process/subprocesses.h"

namespace ps {
namespace {

// Time between two looks at what is due.
constexpr absl::Duration kTick = absl::Milliseconds(200);
// How long a process may take to end when it is not to save anything.
constexpr absl::Duration kGrace = absl::Seconds(5);
// How long servers may take to write their last snapshot. Those that find that
// the job was done before do not end.
constexpr absl::Duration kLastWrites = absl::Minutes(1);
// How long a process that others report as failed may take to end.
constexpr absl::Duration kReportedGrace = absl::Seconds(5);
// Before the metrics are followed again.
constexpr absl::Duration kMetricsDelay = absl::Seconds(5);

class RemoteCluster {
 public:
  RemoteCluster(const LaunchedJob& job, Interrupts* interrupts)
      : job_(job),
        interrupts_(interrupts),
        keeps_snapshots_(job.config.checkpoint().every() > 0),
        children_(
            SubprocessCallbacks{
                [this](int child, OutputStream stream, absl::string_view line) {
                  Relay(child, stream, line);
                },
                [this](int child, const ProcessExit& exit) {
                  Ended(child, exit);
                }},
            // sshd ends what belongs to a client that gives no sign of life.
            /*stop_with_this_process=*/false),
        metrics_copy_(job.run_directory + "/metrics.jsonl"),
        metrics_(job.run_directory + "/metrics.jsonl"),
        progress_(ProgressOptionsFor(/*fd=*/1), &std::cout),
        restarts_(job.config.cluster()),
        hang_watch_(job.hang_patience) {}

  absl::Status Run(bool goes_on);

 private:
  // Trains to the end, a failure, or an interrupt.
  absl::Status Train();
  absl::Status StartDue();
  // Handles events until the deadline or an interrupt, but not for long.
  absl::Status Wait(absl::Time deadline);
  bool IsDone() const;
  void LookAtMetrics();
  absl::Status CheckHang();
  // Why the job cannot go on, once a process has failed.
  absl::Status Failure();
  void Relay(int child, OutputStream stream, absl::string_view line);
  void Ended(int child, const ProcessExit& exit);
  // `member` asks to be started again.
  void StartAgain(Member* member);
  // Waits until no server or worker runs, the deadline, or an interrupt.
  absl::Status WaitForEnds(absl::Time deadline);
  // Asks all that run to end. Those that have been asked before end at once.
  void Ask();
  // Closes their input: what can be reached is asked again, and killed if it
  // does not listen.
  void LetGo();
  // Ends everything; processes have `saving` for their snapshots.
  absl::Status End(absl::Duration saving);
  // Where processes may still run, for a message.
  std::string Unreachable() const;

  const LaunchedJob& job_;
  Interrupts* const interrupts_;
  const bool keeps_snapshots_;
  std::vector<Member> members_;
  std::map<int, Member*> running_;  // By number of the child.
  Subprocesses children_;
  MetricsCopy metrics_copy_;
  MetricsFollower metrics_;
  ProgressLine progress_;
  Restarts restarts_;
  HangWatch hang_watch_;
  FailedProcesses failed_;
  absl::Status given_up_;  // Why no process is started again any more.
  absl::Time last_worker_ended_ = absl::InfinitePast();
  bool ending_ = false;
};

absl::Status RemoteCluster::Train() {
  while (!IsDone()) {
    PS_RETURN_IF_ERROR(StartDue());
    PS_RETURN_IF_ERROR(Wait(absl::InfiniteFuture()));
    LookAtMetrics();
    if (interrupts_->Take() > 0) return absl::CancelledError("interrupted");
    if (!failed_.empty()) return Failure();
    PS_RETURN_IF_ERROR(given_up_);
    PS_RETURN_IF_ERROR(CheckHang());
  }
  return absl::OkStatus();
}

absl::Status RemoteCluster::Failure() {
  const absl::Time deadline = SteadyClock()->Now() + kReportedGrace;
  const auto runs = [this](const std::string& name) {
    return absl::c_any_of(running_, [&name](const auto& child_and_member) {
      return child_and_member.second->process_name() == name;
    });
  };
  while (runs(failed_.Named()) && SteadyClock()->Now() < deadline) {
    PS_RETURN_IF_ERROR(Wait(deadline));
    if (interrupts_->Take() > 0) return absl::CancelledError("interrupted");
  }
  return failed_.Status();
}

absl::Status RemoteCluster::CheckHang() {
  const bool all_run = absl::c_all_of(members_, [](const Member& member) {
    return member.state() == Member::State::kRuns;
  });
  const std::string hang = hang_watch_.Hang(metrics_.progress().iteration,
                                            all_run, SteadyClock()->Now());
  if (hang.empty()) return absl::OkStatus();
  const std::string what = absl::StrCat(
      "No iteration was made for ", absl::FormatDuration(job_.hang_patience),
      ", and all processes run: ", hang);
  if (!keeps_snapshots_ || !job_.restart_when_it_hangs) {
    return absl::DeadlineExceededError(what);
  }
  progress_.Print(absl::StrCat(what, "; all are started again"));
  // They end without a snapshot, which they could not save.
  Ask();
  LetGo();
  return absl::OkStatus();
}

absl::Status RemoteCluster::StartDue() {
  for (Member& member : members_) {
    if (member.state() != Member::State::kWaits ||
        member.start_at() > SteadyClock()->Now()) {
      continue;
    }
    PS_ASSIGN_OR_RETURN(const int child, member.Start(&children_));
    running_[child] = &member;
  }
  return absl::OkStatus();
}

absl::Status RemoteCluster::Wait(absl::Time deadline) {
  deadline = std::min(deadline, SteadyClock()->Now() + kTick);
  if (children_.num_running() > 0) {
    return children_.Poll(deadline, interrupts_->fd());
  }
  pollfd polled = {interrupts_->fd(), POLLIN, 0};
  poll(&polled, 1, static_cast<int>(absl::ToInt64Milliseconds(kTick)));
  return absl::OkStatus();
}

bool RemoteCluster::IsDone() const {
  bool workers_are_done = true;
  bool needed_are_done = true;  // Servers and worker 0.
  for (const Member& member : members_) {
    if (member.kind() == Member::Kind::kMetrics ||
        member.state() == Member::State::kDone) {
      continue;
    }
    const bool is_worker = member.kind() == Member::Kind::kWorker;
    if (is_worker) workers_are_done = false;
    if (!is_worker || member.number() == 0) needed_are_done = false;
  }
  if (workers_are_done) {
    return needed_are_done ||
           SteadyClock()->Now() > last_worker_ended_ + kLastWrites;
  }
  // A worker that the job continues without may hang for ever.
  return needed_are_done &&
         MinWorkers(job_.config) < job_.config.cluster().num_workers();
}

void RemoteCluster::LookAtMetrics() {
  if (!metrics_.Poll() || metrics_.progress().iteration == 0) return;
  restarts_.Reached(metrics_.progress().iteration);
  progress_.Update(metrics_.progress(), SteadyClock()->Now());
}

void RemoteCluster::Relay(int child, OutputStream stream,
                          absl::string_view line) {
  Member* const member = running_.at(child);
  absl::ConsumeSuffix(&line, "\r");  // Lines of ssh itself end with it.
  if (member->kind() == Member::Kind::kMetrics) {
    if (stream == OutputStream::kStdout) metrics_copy_.Take(line);
    return;
  }
  member->Take(line);
  hang_watch_.Heard(member->name(), line, SteadyClock()->Now());
  progress_.Print(
      absl::StrCat("[", member->name(), "] ",
                   progress_.live() ? ShortLogLine(line) : std::string(line)));
}

void RemoteCluster::Ended(int child, const ProcessExit& exit) {
  Member* const member = running_.at(child);
  running_.erase(child);
  member->Ended(exit);
  if (member->kind() == Member::Kind::kMetrics) {
    // Nothing depends on it.
    member->StartAgainAt(SteadyClock()->Now() + kMetricsDelay);
    return;
  }
  if (member->kind() == Member::Kind::kWorker) {
    last_worker_ended_ = SteadyClock()->Now();
  }
  if (exit.ok() || ending_) return;
  if (failed_.empty() && keeps_snapshots_ && AsksForRestart(exit)) {
    StartAgain(member);
  } else {
    failed_.Add({member->process_name(), exit, member->last_error(),
                 member->DescribeEnd()});
  }
}

void RemoteCluster::StartAgain(Member* member) {
  const absl::Time now = SteadyClock()->Now();
  const absl::Duration delay = restarts_.DelayOf(member->name(), now);
  member->StartAgainAt(now + delay);
  if (restarts_.ToGiveUp(now)) {
    const absl::Duration trouble =
        absl::Floor(restarts_.Trouble(now), absl::Seconds(1));
    given_up_.Update(absl::UnavailableError(
        absl::StrCat(member->DescribeEnd(), "\nNo iteration was made for ",
                     absl::FormatDuration(trouble),
                     ", in which processes were started again and again")));
    return;
  }
  progress_.Print(absl::StrCat(member->DescribeEnd(),
                               "; it is started again in ",
                               absl::FormatDuration(delay)));
  if (member->kind() == Member::Kind::kServer) return;
  // Servers that have ended because the job is done say so to a worker that has
  // not heard of it.
  for (Member& other : members_) {
    if (other.kind() == Member::Kind::kServer &&
        other.state() == Member::State::kDone) {
      other.StartAgainAt(now + delay);
    }
  }
}

absl::Status RemoteCluster::WaitForEnds(absl::Time deadline) {
  const auto any_runs = [this] {
    return absl::c_any_of(running_, [](const auto& child_and_member) {
      return child_and_member.second->kind() != Member::Kind::kMetrics;
    });
  };
  while (any_runs() && SteadyClock()->Now() < deadline &&
         interrupts_->Take() == 0) {
    PS_RETURN_IF_ERROR(Wait(deadline));
    LookAtMetrics();
  }
  return absl::OkStatus();
}

void RemoteCluster::Ask() {
  for (const auto& [child, member] : running_) member->Ask();
}

void RemoteCluster::LetGo() {
  for (const auto& [child, member] : running_) member->LetGo();
}

absl::Status RemoteCluster::End(absl::Duration saving) {
  ending_ = true;
  Ask();
  PS_RETURN_IF_ERROR(WaitForEnds(SteadyClock()->Now() + saving));
  Ask();
  PS_RETURN_IF_ERROR(WaitForEnds(SteadyClock()->Now() + kGrace));
  // What still runs cannot be reached, or does not listen.
  LetGo();
  return children_.Terminate(kGrace, interrupts_->fd());
}

std::string RemoteCluster::Unreachable() const {
  std::set<std::string> hosts;
  for (const Member& member : members_) {
    if (member.kind() != Member::Kind::kMetrics && !member.is_reachable()) {
      hosts.insert(member.host());
    }
  }
  if (hosts.empty()) return "";
  return absl::StrCat(
      "\nProcesses may still run on ", absl::StrJoin(hosts, ", "),
      ", which could not be reached; they end when they notice that they are "
      "alone");
}

absl::Status RemoteCluster::Run(bool goes_on) {
  const std::string logs = job_.run_directory + "/logs";
  std::error_code error;
  std::filesystem::create_directories(logs, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot make ", logs));
  }
  members_ = Member::Of(job_, goes_on, SteadyClock()->Now());
  const absl::Status trained = Train();
  progress_.Finish();
  const bool saves = absl::IsCancelled(trained) && keeps_snapshots_;
  const absl::Status ended = End(
      saves ? absl::Seconds(job_.config.checkpoint().grace_seconds()) + kGrace
            : absl::ZeroDuration());
  if (trained.ok()) return ended;
  return absl::Status(trained.code(),
                      absl::StrCat(trained.message(), Unreachable()));
}

}  // namespace

absl::Status RunRemoteCluster(const LaunchedJob& job, bool goes_on,
                              Interrupts* interrupts) {
  return RemoteCluster(job, interrupts).Run(goes_on);
}

}  // namespace ps
