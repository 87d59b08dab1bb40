// What a worker and the servers exchange beside gradients: whole weights, and a
// model's statistics.
#ifndef WORKER_SERVER_STATE_H_
#define WORKER_SERVER_STATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/answer_writer.h"
#include "worker/bucket_plan.h"
#include "worker/exchange_stats.h"

namespace ps {

struct ServerStateOptions {
  std::vector<Bucket> buckets;
  int64_t num_statistics = 0;  // Of the model; usually a few.
  bool workers_drift = false;  // As common/consistency.h has it.
  // Of the buckets and, if there are statistics, a last one for those. Not
  // owned, like all pointers here.
  const ShardMap* shard_map = nullptr;
  Backend* backend = nullptr;
  ParameterClient* client = nullptr;
};

// Not thread-safe; not while pushes are under way.
class ServerState {
 public:
  explicit ServerState(const ServerStateOptions& options);

  // Fetches the servers' weights and statistics.
  absl::Status Pull(Tensor* weights, Tensor* statistics);

  // The same when all workers that are left have made so many pushes and
  // averagings; this one makes no more.
  absl::Status PullLast(int64_t pushes, int64_t averagings, Tensor* weights,
                        Tensor* statistics);

  // A push of this worker came too late, and servers want push number next_push
  // now: tells all of them, so that no slice waits for those before, and
  // fetches their weights. Returns the number of the push to make.
  absl::StatusOr<int64_t> CatchUp(int64_t next_push, Tensor* weights);

  // Replaces this worker's statistics by the mean of all workers' last ones;
  // synchronous workers must all call this after the same pushes. averaging:
  // its number, from 0. Nothing is done if there are no statistics.
  absl::StatusOr<AveragingStats> AverageStatistics(int64_t averaging,
                                                   Tensor* statistics);

 private:
  int statistics_bucket() const {
    return static_cast<int>(options_.buckets.size());
  }
  // Of a bucket of weights.
  absl::Status WriteWeights(const SliceAnswer& answer, Tensor* weights);

  const ServerStateOptions options_;
  AnswerWriter writer_;
  std::vector<float> staging_;  // Statistics on their way.
};

}  // namespace ps

#endif  // WORKER_SERVER_STATE_H_
