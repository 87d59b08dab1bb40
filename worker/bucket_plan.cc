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

}  // namespace ps
