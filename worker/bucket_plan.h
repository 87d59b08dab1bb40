// How the flat gradient is cut into buckets.
#ifndef WORKER_BUCKET_PLAN_H_
#define WORKER_BUCKET_PLAN_H_

#include <cstdint>
#include <vector>

#include "models/model.h"

namespace ps {

// Elements [begin, end) of the flat vector.
struct Bucket {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Cuts at the borders of parameters, from the last one on, since backward
// finishes them in that order: bucket 0 is complete first. A bucket is closed
// as soon as it holds `bucket_bytes` (of fp32); 0: one bucket.
std::vector<Bucket> PlanBuckets(const std::vector<ParameterInfo>& parameters,
                                double bucket_bytes);

}  // namespace ps

#endif  // WORKER_BUCKET_PLAN_H_
