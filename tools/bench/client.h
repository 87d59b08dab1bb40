// A worker's connection to the servers of a job, for benchmarks that push and
// pull without training.
#ifndef TOOLS_BENCH_CLIENT_H_
#define TOOLS_BENCH_CLIENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "transport/parameter_client.h"

namespace ps {

// Options from the job, which must name its cluster.servers, with a new
// incarnation on each call. `total_iterations` is the largest number of
// iterations that will be made. Errors: those of Credentials::Create.
absl::StatusOr<ParameterClientOptions> BenchClientOptions(
    const JobConfig& job, int worker_rank, int64_t total_iterations);

}  // namespace ps

#endif  // TOOLS_BENCH_CLIENT_H_
