// A worker's connection to the servers of a job, for benchmarks that push and
// pull without training.
#ifndef TOOLS_BENCH_BENCH_CLIENT_H_
#define TOOLS_BENCH_BENCH_CLIENT_H_

#include <cstdint>

#include "proto/config.pb.h"
#include "transport/parameter_client.h"

namespace ps {

// What the job says, with its cluster.servers; a new incarnation each time.
// `total_iterations`: so many will be made at most.
ParameterClientOptions BenchClientOptions(const JobConfig& job, int worker_rank,
                                          int64_t total_iterations);

}  // namespace ps

#endif  // TOOLS_BENCH_BENCH_CLIENT_H_
