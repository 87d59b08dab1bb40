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

// The sizes of the buckets that follow those of the gradient, and whose pushes
// the servers average: one for the model's statistics, if there are any, and
// one of a single element in which workers agree to end
// (training.early_stopping).
std::vector<int64_t> AveragedBuckets(const TrainingConfig& training,
                                     int64_t num_statistics);

// The slices of all these buckets. Errors: those of ShardMap::Create.
absl::StatusOr<ShardMap> PlanShards(const ClusterConfig& cluster,
                                    const std::vector<Bucket>& buckets,
                                    const std::vector<int64_t>& averaged);

}  // namespace ps

#endif  // WORKER_BUCKET_PLAN_H_
