// Pushes to a real parameter server and pulls from it, through BenchWorker.
#ifndef TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_
#define TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/push_pull/data_plane.h"

namespace ps {

// Joins the job, which has one server, with the address in cluster.servers; its
// optimizer must be sgd with learning rate 1, so that weights stay whole
// numbers. Worker 0 sends its initial weights. Pushes are in fp32. Errors:
// those of BenchWorker and BenchShardMap.
absl::StatusOr<std::unique_ptr<DataPlane>> JoinParameterServer(
    const JobConfig& job, const DataPlaneOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_
