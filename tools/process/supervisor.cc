#include "tools/process/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/exit_codes.h"
#include "common/status_macros.h"
#include "tools/command_line/progress.h"
#include "tools/process/failed_processes.h"
#include "tools/process/hang_watch.h"
#include "tools/process/metrics_follower.h"

namespace ps {
namespace {

using Kind = JobProcess::Kind;
using State = JobProcess::State;

// Time between two looks at what is due.
constexpr absl::Duration kTick = absl::Milliseconds(200);
// How long a process may take to end when it is not to save anything.
constexpr absl::Duration kGrace = absl::Seconds(5);
// The same on this machine, if processes keep snapshots but cannot save one any
// more.
constexpr absl::Duration kFailureGrace = absl::Seconds(1);
// How long a process that others report as failed may take to end.
constexpr absl::Duration kReportedGrace = absl::Seconds(5);
// Before a helper is started again.
constexpr absl::Duration kHelperDelay = absl::Seconds(5);

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, Launcher* launcher,
             std::vector<JobProcess>* processes)
      : options_(options),
        launcher_(launcher),
        processes_(*processes),
        children_(
            SubprocessCallbacks{
                [this](int child, OutputStream stream, absl::string_view line) {
                  Relay(child, stream, line);
                },
                [this](int child, const ProcessExit& exit) {
                  Ended(child, exit);
                }},
            // sshd ends what belongs to a client that gives no sign of life.
            /*stop_with_this_process=*/!options.over_ssh),
        metrics_(options.run_directory + "/metrics.jsonl"),
        progress_(ProgressOptionsFor(/*fd=*/1), &std::cout),
        hang_watch_(options.hang_patience) {}

  absl::Status Run();

 private:
  // Trains to the end, a failure, or an interrupt.
  absl::Status Train();
  absl::Status StartDue();
  // Handles events until the deadline or an interrupt, but not for long.
  absl::Status Wait(absl::Time deadline);
  bool IsDone() const;
  void LookAtMetrics();
  // Why the job cannot go on, once a process has failed.
  absl::Status Failure();
  absl::Status CheckHang();
  void Relay(int child, OutputStream stream, absl::string_view line);
  void Ended(int child, const ProcessExit& exit);
  void StartAgain(JobProcess* process, const Decision& decision);
  // Ends everything, once Train() has returned this.
  absl::Status End(const absl::Status& trained);
  // Over ssh: asks all that run to end, as SIGTERM does.
  void AskAll();
  // The same, for the last time: what can be reached is killed if it does not
  // listen.
  void LetGo();
  // Until no server or worker runs, the time is over, or an interrupt, which is
  // left for others to take.
  absl::Status WaitForEnds(absl::Duration time);

  const SupervisorOptions& options_;
  Launcher* const launcher_;
  std::vector<JobProcess>& processes_;
  std::map<int, JobProcess*> running_;  // By number of the child.
  Subprocesses children_;
  MetricsFollower metrics_;
  ProgressLine progress_;
  HangWatch hang_watch_;
  FailedProcesses failed_;  // Those that the job does not go on without.
  absl::Status given_up_;
  absl::Time last_worker_ended_ = absl::InfinitePast();
  bool enough_ = false;
  bool ending_ = false;
};

absl::Status Supervisor::Run() {
  const std::string logs = options_.run_directory + "/logs";
  std::error_code error;
  std::filesystem::create_directories(logs, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot make ", logs));
  }
  const absl::Status trained = Train();
  progress_.Finish();
  const absl::Status ended = End(trained);
  return trained.ok() ? ended : trained;
}

absl::Status Supervisor::Train() {
  while (!IsDone()) {
    PS_RETURN_IF_ERROR(StartDue());
    PS_RETURN_IF_ERROR(Wait(absl::InfiniteFuture()));
    LookAtMetrics();
    if (options_.interrupts->Take() > 0) {
      return absl::CancelledError("interrupted");
    }
    if (!failed_.empty()) return Failure();
    PS_RETURN_IF_ERROR(given_up_);
    PS_RETURN_IF_ERROR(CheckHang());
  }
  return absl::OkStatus();
}

absl::Status Supervisor::StartDue() {
  for (JobProcess& process : processes_) {
    if (process.state != State::kWaits ||
        process.start_at > SteadyClock()->Now()) {
      continue;
    }
    PS_ASSIGN_OR_RETURN(const std::optional<Launcher::Command> command,
                        launcher_->CommandFor(process));
    if (!command.has_value()) break;
    if (process.kind != Kind::kHelper) {
      process.log = ProcessLog();
      PS_RETURN_IF_ERROR(process.log.Open(
          absl::StrCat(options_.run_directory, "/logs/", process.name, ".log"),
          /*append=*/options_.goes_on || process.num_starts > 0));
    }
    process.last_line.clear();
    const absl::StatusOr<int> child =
        children_.Start(command->arguments, command->network_namespace,
                        options_.over_ssh ? kLineInput : kEmptyInput);
    if (!child.ok()) return Annotate(child.status(), process.name);
    running_[*child] = &process;
    process.state = State::kRuns;
    process.pid = children_.pid(*child);
    ++process.num_starts;
    process.started_in = metrics_.progress().iteration;
  }
  return absl::OkStatus();
}

absl::Status Supervisor::Wait(absl::Time deadline) {
  deadline = std::min(deadline, SteadyClock()->Now() + kTick);
  if (children_.num_running() > 0) {
    return children_.Poll(deadline, options_.interrupts->fd());
  }
  pollfd polled = {options_.interrupts->fd(), POLLIN, 0};
  poll(&polled, 1, static_cast<int>(absl::ToInt64Milliseconds(kTick)));
  return absl::OkStatus();
}

bool Supervisor::IsDone() const {
  int num_workers = 0;
  bool workers_are_done = true;
  bool needed_are_done = true;  // Servers and worker 0.
  for (const JobProcess& process : processes_) {
    const bool is_worker = process.kind == Kind::kWorker;
    if (is_worker) ++num_workers;
    if (process.kind == Kind::kHelper || process.state == State::kEnded) {
      continue;
    }
    if (is_worker) workers_are_done = false;
    if (!is_worker || process.number == 0) needed_are_done = false;
  }
  if (enough_) return true;
  if (workers_are_done) {
    return needed_are_done ||
           SteadyClock()->Now() > last_worker_ended_ + options_.last_writes;
  }
  // A worker that the job continues without may hang for ever.
  return needed_are_done && options_.min_workers < num_workers;
}

void Supervisor::LookAtMetrics() {
  if (!metrics_.Poll() || metrics_.progress().iteration == 0) return;
  if (options_.show_progress) {
    progress_.Update(metrics_.progress(), SteadyClock()->Now());
  }
  enough_ = enough_ || launcher_->HasEnough(metrics_.progress().iteration);
}

absl::Status Supervisor::Failure() {
  const absl::Time deadline = SteadyClock()->Now() + kReportedGrace;
  const auto runs = [this](const std::string& name) {
    return absl::c_any_of(running_, [&name](const auto& child_and_process) {
      return child_and_process.second->name == name;
    });
  };
  while (runs(failed_.Named()) && SteadyClock()->Now() < deadline) {
    PS_RETURN_IF_ERROR(Wait(deadline));
    if (options_.interrupts->Take() > 0) {
      return absl::CancelledError("interrupted");
    }
  }
  return failed_.Status();
}

absl::Status Supervisor::CheckHang() {
  const bool all_run = absl::c_all_of(
      processes_,
      [](const JobProcess& process) { return process.state == State::kRuns; });
  const std::string hang = hang_watch_.Hang(metrics_.progress().iteration,
                                            all_run, SteadyClock()->Now());
  if (hang.empty()) return absl::OkStatus();
  const std::string what =
      absl::StrCat("No iteration was made for ",
                   absl::FormatDuration(options_.hang_patience),
                   ", and all processes run: ", hang);
  if (!options_.keeps_snapshots || !options_.restart_when_it_hangs) {
    return absl::DeadlineExceededError(what);
  }
  progress_.Print(absl::StrCat(what, "; all are started again"));
  // They end without a snapshot, which they could not save.
  AskAll();
  LetGo();
  return absl::OkStatus();
}

void Supervisor::Relay(int child, OutputStream stream, absl::string_view line) {
  JobProcess* const process = running_.at(child);
  // Lines of ssh itself end with it.
  if (options_.over_ssh) absl::ConsumeSuffix(&line, "\r");
  if (process->kind == Kind::kHelper) {
    if (stream == OutputStream::kStdout) launcher_->TakeHelperLine(line);
    return;
  }
  process->log.Take(line);
  process->last_line = std::string(line);
  hang_watch_.Heard(process->title(), line, SteadyClock()->Now());
  if (!options_.show_log) return;
  progress_.Print(
      absl::StrCat("[", process->title(), "] ",
                   progress_.live() ? ShortLogLine(line) : std::string(line)));
}

void Supervisor::Ended(int child, const ProcessExit& exit) {
  JobProcess* const process = running_.at(child);
  running_.erase(child);
  process->exit = exit;
  process->state = State::kEnded;
  if (process->kind == Kind::kHelper) {
    process->state = State::kWaits;
    process->start_at = SteadyClock()->Now() + kHelperDelay;
    return;
  }
  if (process->kind == Kind::kWorker) {
    last_worker_ended_ = SteadyClock()->Now();
  }
  if (exit.ok() || ending_) return;
  JobState job;
  job.iteration = metrics_.progress().iteration;
  job.workers_running =
      static_cast<int>(absl::c_count_if(running_, [](const auto& other) {
        return other.second->kind == Kind::kWorker;
      }));
  job.has_failed = !failed_.empty();
  const Decision decision = launcher_->OnFailure(*process, job);
  switch (decision.action) {
    case Decision::Action::kFail:
      failed_.Add(
          {process->name, exit, process->log.last_error(), decision.text});
      return;
    case Decision::Action::kGiveUp:
      given_up_.Update(absl::UnavailableError(decision.text));
      return;
    case Decision::Action::kStartAgain:
      StartAgain(process, decision);
      break;
    case Decision::Action::kGoOn:
      break;
  }
  if (!decision.text.empty()) progress_.Print(decision.text);
}

void Supervisor::StartAgain(JobProcess* process, const Decision& decision) {
  for (JobProcess& other : processes_) {
    const bool is_done_server = other.kind == Kind::kServer &&
                                other.state == State::kEnded && other.exit.ok();
    if (&other == process || (decision.with_servers && is_done_server)) {
      other.state = State::kWaits;
      other.start_at = SteadyClock()->Now() + decision.delay;
    }
  }
}

absl::Status Supervisor::End(const absl::Status& trained) {
  ending_ = true;
  const bool saves = options_.keeps_snapshots && absl::IsCancelled(trained);
  const absl::Duration saving = options_.saving + kGrace;
  if (options_.over_ssh) {
    AskAll();
    PS_RETURN_IF_ERROR(WaitForEnds(saves ? saving : absl::ZeroDuration()));
    options_.interrupts->Take();
    // Those that have been asked before end at once.
    AskAll();
    PS_RETURN_IF_ERROR(WaitForEnds(kGrace));
    options_.interrupts->Take();
    // What still runs cannot be reached, or does not listen.
    LetGo();
    return children_.Terminate(kGrace, options_.interrupts->fd());
  }
  // The first to end may have been asked from outside, and the others save.
  if (options_.keeps_snapshots && !saves && !failed_.empty() &&
      failed_.First().exit.code == kExitUnreachable) {
    PS_RETURN_IF_ERROR(WaitForEnds(saving));
    options_.interrupts->Take();
  }
  // Those that can save a snapshot end by themselves; when one was killed, they
  // cannot.
  const absl::Duration grace = !options_.keeps_snapshots ? kGrace
                               : saves                   ? saving
                                                         : kFailureGrace;
  return children_.Terminate(grace, options_.interrupts->fd());
}

void Supervisor::AskAll() {
  for (const auto& [child, process] : running_) children_.Send(child, "");
}

void Supervisor::LetGo() {
  for (const auto& [child, process] : running_) children_.CloseInput(child);
}

absl::Status Supervisor::WaitForEnds(absl::Duration time) {
  const absl::Time deadline = SteadyClock()->Now() + time;
  const auto any_runs = [this] {
    return absl::c_any_of(running_, [](const auto& child_and_process) {
      return child_and_process.second->kind != Kind::kHelper;
    });
  };
  pollfd polled = {options_.interrupts->fd(), POLLIN, 0};
  while (any_runs() && SteadyClock()->Now() < deadline &&
         poll(&polled, 1, /*timeout=*/0) == 0) {
    PS_RETURN_IF_ERROR(Wait(deadline));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Supervise(const SupervisorOptions& options, Launcher* launcher,
                       std::vector<JobProcess>* processes) {
  return Supervisor(options, launcher, processes).Run();
}

}  // namespace ps
