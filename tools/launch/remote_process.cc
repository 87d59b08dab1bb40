#include "tools/launch/remote_process.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"
#include "tools/launch/host_files.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/remote_worker_command.h"

namespace ps {
namespace {

// How much longer than checkpoint.grace_seconds a process may take to end.
constexpr int kSecondsToEnd = 10;

}  // namespace

std::string MetricsAddress(const LaunchedJob& job,
                           const PlacedProcess& process) {
  const auto before =
      absl::c_count_if(job.processes, [&process](const PlacedProcess& other) {
        return other.host == process.host &&
               std::pair(!other.is_server(), other.number) <
                   std::pair(!process.is_server(), process.number);
      });
  return AddressOfNumber(job.metrics_listen, static_cast<int>(before));
}

const LaunchHost& LaunchedJob::HostOfWorker0() const {
  return HostOf(*absl::c_find_if(processes, [](const PlacedProcess& process) {
    return !process.is_server() && process.number == 0;
  }));
}

std::vector<std::string> ProcessArguments(const LaunchedJob& job,
                                          const PlacedProcess& process) {
  if (!process.is_server() && !job.worker_command.empty()) {
    return WorkerCommandArguments(job, process);
  }
  const LaunchHost& host = job.HostOf(process);
  std::vector<std::string> arguments;
  const auto set = [&arguments](const auto&... parts) {
    arguments.push_back(absl::StrCat("--set=", parts...));
  };
  if (process.is_server()) {
    arguments = {job.record.server_program,
                 absl::StrCat("--index=", process.number),
                 "--listen=" + ListenAddress(host, process.port)};
  } else {
    arguments = {job.record.worker_program,
                 absl::StrCat("--rank=", process.number),
                 "--run-dir=" + RemoteRecords(job.folder),
                 // It is shown from the metrics.
                 "--progress-seconds=0"};
    set("machine.workers_on_machine=", host.num_workers);
  }
  if (!process.is_server() && process.number == 0) {
    arguments.insert(arguments.end(), job.first_worker_arguments.begin(),
                     job.first_worker_arguments.end());
  }
  if (!job.metrics_listen.empty()) {
    arguments.push_back("--metrics-listen=" + MetricsAddress(job, process));
  }
  arguments.push_back("--config=" + RemoteJobPath(job.folder));
  // A job with a command may name no folder, and has no snapshots.
  if (job.worker_command.empty() &&
      job.config.checkpoint().directory().empty()) {
    set("checkpoint.directory=", job.folder, "/checkpoints");
  }
  const SecurityConfig& security = job.config.security();
  if (security.mode() == SecurityConfig::MUTUAL_TLS &&
      security.directory().empty()) {
    set("security.directory=", RemoteCertificates(job.folder));
  }
  return arguments;
}

std::vector<std::string> StartArguments(const LaunchedJob& job,
                                        const PlacedProcess& process) {
  return SshArguments(
      job.record.ssh, job.HostOf(process).name,
      LifelineCommand(RemoteLifeline(job.folder),
                      job.config.checkpoint().grace_seconds() + kSecondsToEnd,
                      ProcessArguments(job, process)));
}

std::vector<std::string> FollowMetricsArguments(const LaunchedJob& job) {
  return SshArguments(
      job.record.ssh, job.HostOfWorker0().name,
      LifelineCommand(RemoteLifeline(job.folder), /*seconds=*/0,
                      {"tail", "-n", "+1", "-F",
                       RemoteRecords(job.folder) + "/metrics.jsonl"}));
}

}  // namespace ps
