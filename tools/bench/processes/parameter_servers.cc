#include "tools/bench/processes/parameter_servers.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "security/job_certificates.h"
#include "tools/process/find_program.h"

namespace ps {
namespace {

constexpr absl::Duration kStart = absl::Seconds(30);

std::string AddressPath(const std::string& directory, int index) {
  return absl::StrCat(directory, "/server-", index, ".address");
}

// Fields that the command itself sets cannot be overridden.
absl::Status CheckOverridden(absl::string_view field, int64_t value,
                             int64_t decided) {
  if (value == decided) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--set makes ", field, " ", value, "; here it must be ", decided));
}

}  // namespace

absl::StatusOr<JobConfig> BenchJob(JobConfig job,
                                   const std::vector<std::string>& overrides) {
  const int num_workers = job.cluster().num_workers();
  const int num_servers = job.cluster().num_servers();
  for (const std::string& assignment : overrides) {
    PS_RETURN_IF_ERROR(Annotate(ApplyOverride(assignment, &job),
                                absl::StrCat("--set ", assignment)));
  }
  PS_RETURN_IF_ERROR(CheckOverridden("cluster.num_workers",
                                     job.cluster().num_workers(), num_workers));
  PS_RETURN_IF_ERROR(CheckOverridden("cluster.num_servers",
                                     job.cluster().num_servers(), num_servers));
  PS_RETURN_IF_ERROR(ValidateConfig(job));
  return job;
}

absl::StatusOr<ParameterServers> StartParameterServers(
    const JobConfig& job, BenchProcesses* processes) {
  const std::string& directory = processes->directory();
  PS_ASSIGN_OR_RETURN(const std::string program, FindProgram("server"));
  const int count = job.cluster().num_servers();
  ParameterServers servers;
  servers.job_path = directory + "/job.textproto";
  JobConfig known = job;
  known.mutable_cluster()->clear_servers();
  for (int i = 0; i < count; ++i) {
    known.mutable_cluster()->add_servers("127.0.0.1:0");
  }
  PS_RETURN_IF_ERROR(MakeOwnCertificates(directory, &known));
  const auto write = [&] {
    return WriteFileAtomically(servers.job_path, ResolvedConfigText(known));
  };
  for (int i = 0; i < count; ++i) {
    PS_RETURN_IF_ERROR(write());
    PS_ASSIGN_OR_RETURN(
        const int child,
        processes->Start(absl::StrCat("server ", i),
                         {program, "--config=" + servers.job_path,
                          absl::StrCat("--index=", i),
                          "--address-file=" + AddressPath(directory, i)}));
    servers.children.push_back(child);
    // Those after the first may call it, and must know its port.
    PS_ASSIGN_OR_RETURN(
        const std::string address,
        processes->AwaitFile(AddressPath(directory, i), kStart));
    known.mutable_cluster()->set_servers(i, address);
  }
  PS_RETURN_IF_ERROR(write());
  return servers;
}

}  // namespace ps
