#include "tools/launch/remote_cluster.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/consistency.h"
#include "tools/launch/metrics_copy.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/restarts.h"
#include "tools/process/supervisor.h"

namespace ps {
namespace {

// sshd refuses some of more than ten logins at the same time (MaxStartups).
constexpr int kLoginsAtOnce = 8;

// Whether ssh has told how the process ended, if it has.
bool IsReachable(const JobProcess& process) {
  return process.exit.signal == 0 && process.exit.code != kExitSshFailed;
}

// How it ended, and what it or ssh said last, in one line.
std::string DescribeEnd(const JobProcess& process) {
  // What ssh says comes last.
  const bool is_reachable = IsReachable(process);
  const std::string& said =
      is_reachable ? process.log.last_error() : process.last_line;
  return absl::StrCat(process.title(), " ",
                      is_reachable ? DescribeExit(process.exit) : "was lost",
                      said.empty() ? "" : ": ", said);
}

// Each process is the child of an ssh; so is a helper that prints worker 0's
// metrics.
class SshLauncher final : public Launcher {
 public:
  explicit SshLauncher(const LaunchedJob& job)
      : job_(job),
        metrics_copy_(job.run_directory + "/metrics.jsonl"),
        restarts_(job.config.cluster()) {}

  std::vector<JobProcess> Processes() const;

  absl::StatusOr<std::optional<Command>> CommandFor(
      const JobProcess& process) override;
  Decision OnFailure(const JobProcess& process, const JobState& job) override;
  bool HasEnough(int64_t iteration) override {
    restarts_.Reached(iteration);
    return false;
  }
  void TakeHelperLine(absl::string_view line) override {
    metrics_copy_.Take(line);
  }

 private:
  const LaunchedJob& job_;
  MetricsCopy metrics_copy_;
  Restarts restarts_;
};

// They are due soon.
std::vector<JobProcess> SshLauncher::Processes() const {
  const absl::Time now = SteadyClock()->Now();
  std::vector<JobProcess> processes;
  std::map<std::string, int> logins;
  for (const PlacedProcess& placed : job_.processes) {
    JobProcess process;
    process.kind = placed.is_server() ? JobProcess::Kind::kServer
                                      : JobProcess::Kind::kWorker;
    process.number = placed.number;
    process.name = placed.name();
    process.host = job_.HostOf(placed).name;
    process.start_at =
        now + absl::Seconds(logins[process.host]++ / kLoginsAtOnce);
    processes.push_back(std::move(process));
  }
  JobProcess metrics;
  metrics.name = "metrics";
  metrics.host = job_.HostOfWorker0().name;
  processes.push_back(std::move(metrics));
  return processes;
}

absl::StatusOr<std::optional<Launcher::Command>> SshLauncher::CommandFor(
    const JobProcess& process) {
  Command command;
  if (process.kind == JobProcess::Kind::kHelper) {
    command.arguments = FollowMetricsArguments(job_);
  }
  for (const PlacedProcess& placed : job_.processes) {
    if (placed.name() != process.name) continue;
    command.arguments = StartArguments(job_, placed);
  }
  return command;
}

Decision SshLauncher::OnFailure(const JobProcess& process,
                                const JobState& job) {
  const bool keeps_snapshots = job_.config.checkpoint().every() > 0;
  const std::string end = DescribeEnd(process);
  if (job.has_failed || !keeps_snapshots || !AsksForRestart(process.exit)) {
    return {Decision::Action::kFail, end};
  }
  const absl::Time now = SteadyClock()->Now();
  const absl::Duration delay = restarts_.DelayOf(process.title(), now);
  if (restarts_.ToGiveUp(now)) {
    const absl::Duration trouble =
        absl::Floor(restarts_.Trouble(now), absl::Seconds(1));
    return {Decision::Action::kGiveUp,
            absl::StrCat(end, "\nNo iteration was made for ",
                         absl::FormatDuration(trouble),
                         ", in which processes were started again and again")};
  }
  Decision decision = {Decision::Action::kStartAgain,
                       absl::StrCat(end, "; it is started again in ",
                                    absl::FormatDuration(delay)),
                       delay};
  // Servers that have ended because the job is done say so to a worker that has
  // not heard of it.
  decision.with_servers = process.kind == JobProcess::Kind::kWorker;
  return decision;
}

// Where processes may still run, for a message.
std::string Unreachable(const std::vector<JobProcess>& processes) {
  std::set<std::string> hosts;
  for (const JobProcess& process : processes) {
    if (process.kind != JobProcess::Kind::kHelper && !IsReachable(process)) {
      hosts.insert(process.host);
    }
  }
  if (hosts.empty()) return "";
  return absl::StrCat(
      "\nProcesses may still run on ", absl::StrJoin(hosts, ", "),
      ", which could not be reached; they end when they notice that they are "
      "alone");
}

}  // namespace

absl::Status RunRemoteCluster(const LaunchedJob& job, bool goes_on,
                              Interrupts* interrupts) {
  SshLauncher launcher(job);
  SupervisorOptions options;
  options.run_directory = job.run_directory;
  options.goes_on = goes_on;
  options.over_ssh = true;
  options.min_workers = MinWorkers(job.config);
  options.keeps_snapshots = job.config.checkpoint().every() > 0;
  options.saving = absl::Seconds(job.config.checkpoint().grace_seconds());
  // Servers that a user's command never calls do not end.
  if (!job.worker_command.empty()) options.last_writes = absl::Seconds(1);
  options.hang_patience = job.hang_patience;
  options.restart_when_it_hangs = job.restart_when_it_hangs;
  options.interrupts = interrupts;
  std::vector<JobProcess> processes = launcher.Processes();
  const absl::Status trained = Supervise(options, &launcher, &processes);
  if (trained.ok()) return trained;
  return absl::Status(trained.code(),
                      absl::StrCat(trained.message(), Unreachable(processes)));
}

}  // namespace ps
