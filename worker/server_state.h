// Exchanges data other than gradients between a worker and the servers: whole
// weights, and a model's statistics.
#ifndef WORKER_SERVER_STATE_H_
#define WORKER_SERVER_STATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"
#include "worker/answer_writer.h"
#include "worker/exchange_stats.h"
#include "worker/worker_context.h"

namespace ps {

// The exchange. Not thread-safe. Must not be used during pushes.
class ServerState {
 public:
  // `num_statistics` is the size of the model's statistics, usually small.
  ServerState(const WorkerContext& context, int64_t num_statistics);

  // Fetches the servers' weights and statistics after this many pushes and
  // averagings. In asynchronous modes, waits until all remaining workers have
  // made them, and this worker must not make any of these afterwards. Errors:
  // those of ParameterClient::PullWeights and StartAgain.
  absl::Status Pull(int64_t pushes, int64_t averagings, Tensor* weights,
                    Tensor* statistics);

  // Catches up when a push of this worker came too late and a server expects
  // push number next_push now. Tells all servers, so that no slice waits for
  // this worker's earlier pushes, and fetches their weights. Returns the number
  // of the push to make next.
  absl::StatusOr<int64_t> CatchUp(int64_t next_push, Tensor* weights);

  // Replaces this worker's statistics by the mean of all workers' latest ones.
  // All workers of a synchronous job must call this after the same pushes.
  // `averaging` is the number of the call, from 0. Does nothing if there are no
  // statistics.
  absl::StatusOr<AveragingStats> AverageStatistics(int64_t averaging,
                                                   Tensor* statistics);

  // Returns whether a worker wants to end: each calls this with its own vote
  // after the same evaluation, which `evaluation` counts from 0, and all get
  // the same answer. Only with training.early_stopping. Adds the bytes to
  // *stats.
  absl::StatusOr<bool> AgreeToEnd(int64_t evaluation, bool vote,
                                  AveragingStats* stats);

 private:
  // Pushes host values of an averaged bucket, and passes each answer to
  // `write`.
  absl::Status Average(int bucket, int64_t averaging,
                       const std::vector<float>& values,
                       const AnswerHandler& write, AveragingStats* stats);
  // The last bucket, with the votes to end; it is not one of weights.
  int votes_bucket() const { return context_.shard_map->num_buckets() - 1; }
  // The first averaged bucket, if there are statistics.
  int statistics_bucket() const {
    return static_cast<int>(context_.buckets.size());
  }
  bool is_weights(const SliceAnswer& answer) const {
    return answer.slice->bucket < statistics_bucket();
  }
  bool is_statistics(const SliceAnswer& answer) const {
    return num_statistics_ > 0 && answer.slice->bucket == statistics_bucket();
  }
  // Writes an answer about a bucket of weights.
  absl::Status WriteWeights(const SliceAnswer& answer, Tensor* weights);

  const WorkerContext context_;
  const int64_t num_statistics_;
  const bool workers_drift_;  // The result of WorkersDrift.
  AnswerWriter writer_;
  std::vector<float> staging_;  // The host copy of the statistics.
  Tensor votes_;                // [1]: the mean of all votes to end.
};

}  // namespace ps

#endif  // WORKER_SERVER_STATE_H_
