#include "tools/launch/launch.h"

#include <cstdio>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "security/job_certificates.h"
#include "tools/launch/host_files.h"
#include "tools/launch/remote_cluster.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/remote_worker_command.h"
#include "tools/launch/results.h"
#include "tools/launch/run_together.h"

namespace ps {
namespace {

// Clocks of hosts may be behind.
constexpr absl::Duration kSkew = absl::Hours(24);
constexpr absl::Duration kCertificatesLast = absl::Hours(24 * 365);

// Makes the certificates of all processes, or renews them. Returns their
// folder; empty if the job needs none of ours.
absl::StatusOr<std::string> MakeCertificates(const LaunchedJob& job) {
  const SecurityConfig& security = job.config.security();
  if (security.mode() != SecurityConfig::MUTUAL_TLS ||
      !security.directory().empty()) {
    return "";
  }
  const std::string folder = job.run_directory + "/certificates";
  const absl::Time now = absl::Now();
  PS_RETURN_IF_ERROR(
      WriteJobCertificates(job.config, folder,
                           {now - kSkew, now + kCertificatesLast})
          .status());
  return folder;
}

bool IsGiven(const ProgramSource& source) {
  return !source.bundle.empty() || !source.folder.empty();
}

// For sh on each host. Its last line of output names the machine, or rather its
// network, of which a machine may have several.
std::string CheckScript(const LaunchedJob& job, const ProgramSource& source) {
  std::string script;
  if (!source.folder.empty()) {
    script =
        CheckProgramsCommand({source.folder + "/server",
                              absl::StrCat(source.folder, "/", source.worker)});
  } else if (source.bundle.empty() && !job.record.server_program.empty()) {
    script = CheckProgramsCommand(
        {job.record.server_program, job.record.worker_program});
  }
  script += CheckWorkerCommandScript(job);
  for (const PlacedProcess& process : job.processes) {
    const std::string& address = job.HostOf(process).address;
    if (!process.is_server() || IsNumber(address)) continue;
    // 2: there is no such name. Other codes: there is no getent.
    absl::StrAppend(
        &script, "getent hosts ", QuoteForShell(address),
        " >/dev/null 2>&1\nif [ $? = 2 ]; then\n  echo ",
        QuoteForShell(absl::StrCat(
            "does not know the address \"", address, "\" of ", process.name(),
            "; give the one at which hosts reach it, as in --hosts=",
            job.HostOf(process).name, "=10.0.0.1")),
        " >&2\n  exit 1\nfi\n");
  }
  return script +
         "echo $(cat /proc/sys/kernel/random/boot_id; readlink "
         "/proc/self/ns/net)\n";
}

}  // namespace

absl::StatusOr<LaunchedJob> PlaceJob(const std::string& job_path,
                                     const std::vector<std::string>& overrides,
                                     const LaunchRecord& record) {
  LaunchedJob job;
  job.record = record;
  PS_ASSIGN_OR_RETURN(job.hosts, ParseHosts(record.hosts));
  PS_ASSIGN_OR_RETURN(JobConfig config, LoadConfig(job_path));
  for (const std::string& override : overrides) {
    PS_RETURN_IF_ERROR(ApplyOverride(override, &config));
  }
  ClusterConfig* const cluster = config.mutable_cluster();
  const int num_workers = NumWorkers(job.hosts);
  if (cluster->has_num_workers() && cluster->num_workers() != num_workers) {
    std::printf("The hosts have %d workers, which count, and the job says %d\n",
                num_workers, cluster->num_workers());
  }
  cluster->set_num_workers(num_workers);
  PS_ASSIGN_OR_RETURN(
      job.processes,
      PlaceProcesses(job.hosts, cluster->num_servers(), record.port));
  cluster->clear_servers();
  for (const std::string& address : ServerAddresses(job.hosts, job.processes)) {
    cluster->add_servers(address);
  }
  PS_ASSIGN_OR_RETURN(job.config,
                      WithOverrides(std::move(config), {}, job_path));
  return job;
}

absl::Status CheckHosts(const LaunchedJob& job, const ProgramSource& source,
                        Interrupts* interrupts) {
  const std::string script = CheckScript(job, source);
  PS_ASSIGN_OR_RETURN(
      const std::vector<CommandResult> results,
      RunScripts(job, std::vector<std::string>(job.hosts.size(), script),
                 interrupts));
  // All problems at once.
  std::vector<std::string> problems;
  // The servers of each machine, by where they listen.
  std::map<std::string, const PlacedProcess*> listening;
  for (size_t i = 0; i < results.size(); ++i) {
    const absl::Status result = ResultOnHost(job.hosts[i].name, results[i]);
    if (!result.ok()) problems.emplace_back(result.message());
    // A login shell may have written lines of its own.
    const std::string& out = results[i].out;
    const std::string machine = out.substr(out.rfind('\n') + 1);
    for (const PlacedProcess& process : job.processes) {
      if (machine.empty() || !process.is_server() ||
          process.host != static_cast<int>(i)) {
        continue;
      }
      const std::string address = ListenAddress(job.hosts[i], process.port);
      const auto [other, is_new] =
          listening.emplace(absl::StrCat(machine, " ", address), &process);
      if (is_new) continue;
      problems.push_back(absl::StrCat(
          job.HostOf(*other->second).name, " and ", job.hosts[i].name,
          " are one machine, where ", other->second->name(), " and ",
          process.name(), " cannot both listen on ", address,
          "; name a machine once, and give it more workers"));
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrJoin(problems, "\n"));
}

absl::Status Launch(LaunchedJob job, const ProgramSource& source, bool goes_on,
                    Interrupts* interrupts) {
  job.folder = RemoteRunFolder(job.run_directory);
  if (!goes_on) job.record.run_id = NewRunId();
  const std::string job_path = job.run_directory + "/job.textproto";
  PS_RETURN_IF_ERROR(
      WriteFileAtomically(job_path, ResolvedConfigText(job.config)));
  // So that the run can go on if what follows fails.
  PS_RETURN_IF_ERROR(WriteLaunchRecord(job.record, job.run_directory));
  if (IsGiven(source) || job.record.server_program.empty()) {
    PS_RETURN_IF_ERROR(
        PutProgramsOnHosts(source, job.hosts, interrupts, &job.record));
  }
  PS_RETURN_IF_ERROR(WriteLaunchRecord(job.record, job.run_directory));
  PS_ASSIGN_OR_RETURN(const std::string certificates, MakeCertificates(job));
  PS_RETURN_IF_ERROR(SendHostFiles(job, certificates, interrupts));
  PS_RETURN_IF_ERROR(RunRemoteCluster(job, goes_on, interrupts));
  return Annotate(FetchResults(job, interrupts),
                  "the job is trained, but its results are not here");
}

}  // namespace ps
