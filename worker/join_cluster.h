// Connects a worker to the servers of its job.
#ifndef WORKER_JOIN_CLUSTER_H_
#define WORKER_JOIN_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tensor/parameter_info.h"
#include "transport/interruption.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"

namespace ps {

struct JoinClusterOptions {
  const JobConfig* config = nullptr;  // Not owned; has cluster.servers.
  int worker_rank = 0;
  uint64_t incarnation = 0;
  std::string name;
  std::string data_text;                  // As in ParameterClientOptions.
  std::vector<ParameterInfo> parameters;  // Those of the flat vector.
  std::vector<double> rates;      // The parameters', if servers apply them.
  std::vector<Bucket> buckets;    // Each ends where a parameter ends.
  std::vector<int64_t> averaged;  // AveragedBuckets.
  int64_t num_pushes = 0;         // In the whole job.
  bool was_done = false;          // As in ParameterClientOptions.
  Interruption* interruption = nullptr;  // Not owned; may be null.
};

struct ClusterLink {
  // The map of the buckets and, after them, those that are averaged.
  std::unique_ptr<ShardMap> shard_map;
  std::unique_ptr<ParameterClient> client;  // The client; refers to the map.
};

// Whether the job has this worker, and an address of each server. Errors:
// kInvalidArgument.
absl::Status CheckRank(const JobConfig& config, int worker_rank);

// A server may listen at port 0, which is a free one, but nobody reaches it
// there. Errors: kInvalidArgument.
absl::Status CheckPorts(const ClusterConfig& cluster);

// Cuts the buckets into slices and registers with all servers. Errors: those of
// Credentials::Create and ParameterClient.
absl::StatusOr<ClusterLink> JoinCluster(const JoinClusterOptions& options);

}  // namespace ps

#endif  // WORKER_JOIN_CLUSTER_H_
