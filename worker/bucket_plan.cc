#include "worker/bucket_plan.h"

namespace ps {

std::vector<Bucket> PlanBuckets(const std::vector<ParameterInfo>& parameters,
                                double bucket_bytes) {
  std::vector<Bucket> buckets;
  if (parameters.empty()) return buckets;
  const ParameterInfo& last = parameters.back();
  Bucket bucket;
  bucket.end = last.offset + NumElements(last.shape);
  for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
    bucket.begin = it->offset;
    const bool full =
        bucket_bytes > 0 &&
        static_cast<double>(bucket.size()) * sizeof(float) >= bucket_bytes;
    if (!full && bucket.begin > 0) continue;
    if (bucket.size() > 0) buckets.push_back(bucket);
    bucket.end = bucket.begin;
  }
  return buckets;
}

std::vector<int64_t> AveragedBuckets(const TrainingConfig& training,
                                     int64_t num_statistics) {
  std::vector<int64_t> sizes;
  if (num_statistics > 0) sizes.push_back(num_statistics);
  if (training.early_stopping().patience() > 0) sizes.push_back(1);
  return sizes;
}

absl::StatusOr<ShardMap> PlanShards(const ClusterConfig& cluster,
                                    const std::vector<Bucket>& buckets,
                                    const std::vector<int64_t>& averaged) {
  ShardMapOptions map;
  for (const Bucket& bucket : buckets) {
    map.bucket_sizes.push_back(bucket.size());
  }
  map.bucket_sizes.insert(map.bucket_sizes.end(), averaged.begin(),
                          averaged.end());
  map.num_averaged_buckets = static_cast<int64_t>(averaged.size());
  map.num_servers = cluster.num_servers();
  map.max_slice_elements = cluster.max_slice_elements();
  return ShardMap::Create(map);
}

}  // namespace ps
