// The job of a measurement and its parameter servers: processes of the `server`
// program on the loopback interface, as many as the job needs.
#ifndef TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_
#define TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/processes/processes.h"

namespace ps {

// The job with these overrides, "field=value", which may not change how many
// workers and servers it has. Errors: kInvalidArgument naming field, value and
// rule; those of ValidateConfig.
absl::StatusOr<JobConfig> BenchJob(JobConfig job,
                                   const std::vector<std::string>& overrides);

struct ParameterServers {
  std::vector<int> children;  // Their numbers, by server index.
  // The job that workers load, with the addresses in cluster.servers.
  std::string job_path;
};

// Returns when all servers listen. Errors: those of BenchProcesses, AtomicFile
// and FindProgram; kDeadlineExceeded if a server does not listen after half a
// minute.
absl::StatusOr<ParameterServers> StartParameterServers(
    const JobConfig& job, BenchProcesses* processes);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_
