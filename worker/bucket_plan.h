// The division of the flat gradient into buckets.
#ifndef WORKER_BUCKET_PLAN_H_
#define WORKER_BUCKET_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// Elements [begin, end) of the flat vector.
struct Bucket {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Cuts the gradient at parameter boundaries, starting with the last parameter,
// because the backward pass finishes parameters in that order: bucket 0 is
// complete first. A bucket ends as soon as it holds at least `bucket_bytes` of
// fp32 values; 0: one bucket.
std::vector<Bucket> PlanBuckets(const std::vector<ParameterInfo>& parameters,
                                double bucket_bytes);

// The slices of these buckets and, if there are statistics, of one last bucket
// for them. Errors: those of ShardMap::Create.
absl::StatusOr<ShardMap> PlanShards(const ClusterConfig& cluster,
                                    const std::vector<Bucket>& buckets,
                                    int64_t num_statistics);

}  // namespace ps

#endif  // WORKER_BUCKET_PLAN_H_
