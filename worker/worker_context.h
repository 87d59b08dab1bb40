// The state that the parts of a worker share in exchanges with servers.
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

// The context. None of the pointers is owned; all outlive its users.
struct WorkerContext {
  const JobConfig* config = nullptr;
  int worker_rank = 0;
  std::vector<Bucket> buckets;  // Each ends where a parameter ends.
  // The map of the buckets and, after them, those of AveragedBuckets.
  const ShardMap* shard_map = nullptr;
  Backend* backend = nullptr;
  ParameterClient* client = nullptr;
  // The worker's own weights in delta mode; else null. They take steps by
  // gradients, and follow the weights that the servers send.
  WorkerWeights* own_weights = nullptr;
};

}  // namespace ps

#endif  // WORKER_WORKER_CONTEXT_H_
