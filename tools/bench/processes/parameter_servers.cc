#include "tools/bench/processes/parameter_servers.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "tools/find_program.h"

namespace ps {
namespace {

constexpr absl::Duration kStart = absl::Seconds(30);

std::string AddressPath(const std::string& directory, int index) {
  return absl::StrCat(directory, "/server-", index, ".address");
}

}  // namespace

absl::StatusOr<ParameterServers> StartParameterServers(
    const JobConfig& job, BenchProcesses* processes) {
  const std::string& directory = processes->directory();
  PS_ASSIGN_OR_RETURN(const std::string program, FindProgram("server"));
  const std::string servers_job = directory + "/servers.textproto";
  PS_RETURN_IF_ERROR(WriteFileAtomically(servers_job, ResolvedConfigText(job)));
  const int count = job.cluster().num_servers();
  ParameterServers servers;
  for (int i = 0; i < count; ++i) {
    PS_ASSIGN_OR_RETURN(
        const int child,
        processes->Start(absl::StrCat("server ", i),
                         {program, "--config=" + servers_job,
                          absl::StrCat("--index=", i), "--listen=127.0.0.1:0",
                          "--address-file=" + AddressPath(directory, i)}));
    servers.children.push_back(child);
  }
  JobConfig workers_job = job;
  workers_job.mutable_cluster()->clear_servers();
  for (int i = 0; i < count; ++i) {
    PS_ASSIGN_OR_RETURN(
        const std::string address,
        processes->AwaitFile(AddressPath(directory, i), kStart));
    workers_job.mutable_cluster()->add_servers(address);
  }
  servers.job_path = directory + "/job.textproto";
  PS_RETURN_IF_ERROR(
      WriteFileAtomically(servers.job_path, ResolvedConfigText(workers_job)));
  return servers;
}

}  // namespace ps
