// The parameter servers of a measurement: processes of the `server` program on
// the loopback interface, as many as the job needs.
#ifndef TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_
#define TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/processes/processes.h"

namespace ps {

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
