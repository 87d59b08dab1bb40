#include "tools/bench/processes/parameter_servers.h"

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

}  // namespace

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
