// The parameter servers of a measurement: the `server` program, as many times
// as the job says, on the loopback interface.
#ifndef TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_
#define TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/processes/processes.h"

namespace ps {

struct ParameterServers {
  std::vector<int> children;  // Their numbers, in order of index.
  // The job with their addresses in cluster.servers: what workers load.
  std::string job_path;
};

// Returns when all of them listen. Their files go into `directory`, which must
// outlive them. Errors: those of BenchProcesses, AtomicFile and FindProgram;
// kDeadlineExceeded if one does not listen after half a minute.
absl::StatusOr<ParameterServers> StartParameterServers(
    const JobConfig& job, const std::string& directory,
    BenchProcesses* processes);

}  // namespace ps

#endif  // TOOLS_BENCH_PROCESSES_PARAMETER_SERVERS_H_
