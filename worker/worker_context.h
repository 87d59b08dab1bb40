// What the parts of a worker that exchange something with servers share.
#ifndef WORKER_WORKER_CONTEXT_H_
#define WORKER_WORKER_CONTEXT_H_

#include <vector>

#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/worker_weights.h"

namespace ps {

// None of the pointers is owned; all outlive whoever has this.
struct WorkerContext {
  const JobConfig* config = nullptr;
  int worker_rank = 0;
  std::vector<Bucket> buckets;  // Each ends where a parameter ends.
  // Covers the buckets and, after them, those of AveragedBuckets.
  const ShardMap* shard_map = nullptr;
  Backend* backend = nullptr;
  ParameterClient* client = nullptr;
  // In delta mode; else null. It makes steps of gradients, and follows the
  // weights that the servers send.
  WorkerWeights* own_weights = nullptr;
};

}  // namespace ps

#endif  // WORKER_WORKER_CONTEXT_H_
