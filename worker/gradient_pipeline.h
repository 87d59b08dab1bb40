// From gradients to new weights: sieves each bucket when it is complete, sends
// it, and applies the servers' answers.
#ifndef WORKER_GRADIENT_PIPELINE_H_
#define WORKER_GRADIENT_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compressors/automatic/chooser.h"
#include "compressors/automatic/exchange_costs.h"
#include "compressors/compressor.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/exchange_phases.h"

namespace ps {

// What happened to one iteration's gradient. Counts are those of all workers
// together, except where it says otherwise.
struct ExchangeStats {
  ExchangePhases phases;
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;  // This worker's.
  // Of this worker's slices: how many updates of others came between the
  // weights of its gradient and its own, where each push is an update.
  double mean_staleness = 0;
  int64_t max_staleness = 0;
  // Pushes of this worker that came too late for their update.
  int64_t left_out = 0;
  // The push that the servers want next: not the one after this, where this
  // one came too late.
  int64_t next_push = 0;
  // This worker's compressors, one for each bucket.
  std::vector<CompressionStats> compression;
  // With compressor "auto": of this worker's elements, the share that lies in
  // buckets which were compressed.
  std::optional<double> compressed_share;
};

// What it took to average statistics. As in ExchangeStats.
struct AveragingStats {
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
};

struct GradientPipelineOptions {
  const JobConfig* config = nullptr;  // Not owned, like all pointers here.
  int worker_rank = 0;
  std::vector<ParameterInfo> parameters;  // Of the flat vector.
  std::vector<Bucket> buckets;            // They end where parameters do.
  int64_t num_statistics = 0;             // Of the model; usually a few.
  // Of the buckets and, if there are statistics, a last one for those.
  const ShardMap* shard_map = nullptr;
  Backend* backend = nullptr;
  ParameterClient* client = nullptr;
};

// Not thread-safe. For each iteration: Begin, Ready until the whole vector is
// covered, Await.
class GradientPipeline {
 public:
  static absl::StatusOr<std::unique_ptr<GradientPipeline>> Create(
      const GradientPipelineOptions& options);

  // push: its number, from 0. gradient: the flat vector that the ranges of
  // Ready point into; weights: those that servers sent, of the same shape,
  // changed by Ready and Await as answers come. Both are kept until Await
  // returns.
  void Begin(int64_t push, const Tensor& gradient, const Tensor& weights);

  // Elements [begin, end) are final; ranges come in descending order, as
  // Model::ForwardBackward gives them. Compresses and sends every bucket that
  // is complete now, and applies what has come back of earlier ones, whose
  // weights this iteration needs no more. Errors: kFailedPrecondition for a
  // gradient that is not finite, if the job's policy is FAIL.
  absl::Status Ready(double loss, int64_t begin, int64_t end);

  // Waits for all answers and writes the new weights.
  absl::StatusOr<ExchangeStats> Await();

  // What the last iteration, from Begin to Await and all around them, took on
  // this worker: with compressor "auto" worker 0 decides by that what all
  // workers do, from the iteration after the next one on.
  void IterationTook(double seconds);

  // Euclidean norm of what this worker keeps back, over all buckets. Reads it
  // all.
  absl::StatusOr<double> ResidualNorm();

  // A push of this worker came too late, and servers want push number next_push
  // now: tells all of them, so that no slice waits for those before, and
  // fetches their weights. Returns the number of the push to make.
  absl::StatusOr<int64_t> CatchUp(int64_t next_push);

  // Fetches the servers' weights and statistics.
  absl::Status PullWeights(Tensor* weights, Tensor* statistics);

  // The same when all workers that are left have made so many pushes and
  // averagings; this one makes no more.
  absl::Status PullLastWeights(int64_t pushes, int64_t averagings,
                               Tensor* weights, Tensor* statistics);

  // Replaces this worker's statistics by the mean of all workers' last ones;
  // synchronous workers must all call this after the same pushes. averaging:
  // its number, from 0. Nothing is done if there are no statistics.
  absl::StatusOr<AveragingStats> AverageStatistics(int64_t averaging,
                                                   Tensor* statistics);

 private:
  explicit GradientPipeline(const GradientPipelineOptions& options)
      : options_(options) {}

  absl::Status Send(int bucket, double loss);
  absl::Status Answered(const SliceAnswer& answer);
  // Of what this worker holds of each slice of a bucket.
  absl::StatusOr<std::vector<uint64_t>> WeightsDigests(int bucket);
  // What was sent and left out is kept back after all.
  absl::Status PutBack(const Slice& slice);
  void AddCosts(const SliceAnswer& answer, double apply_seconds);
  // `begin`: where the slice's bucket is in `values`.
  absl::Status Apply(const SliceAnswer& answer, int64_t begin, Tensor* values);
  int statistics_bucket() const {
    return static_cast<int>(options_.buckets.size());
  }

  const GradientPipelineOptions options_;
  // With compressor "auto": worker 0 chooses for all.
  std::unique_ptr<CompressionChooser> chooser_;
  // What this iteration does, at which the compressors look, and what the next
  // one will. [bucket]
  std::vector<bool> compressed_;
  std::vector<bool> compressed_next_;
  ExchangeCosts costs_;  // Of this exchange, as it goes on.
  std::vector<std::unique_ptr<Compressor>> compressors_;  // [bucket]
  std::vector<Tensor> residuals_;                         // [bucket]
  std::vector<float> staging_;  // A stretch of weights or residual on its way.
  Selection selection_;         // Likewise, of some elements.
  std::vector<float> changes_;  // Of those.

  // Where pushes may be left out, with error feedback: what was sent, by bucket
  // and slice.
  std::vector<std::vector<PayloadBuffer>> sent_;

  int64_t push_ = 0;
  Tensor gradient_;  // [num_parameters]
  Tensor weights_;   // [num_parameters]
  absl::Time first_push_;
  absl::Time last_answer_;
  int64_t num_answers_ = 0;
  size_t next_bucket_ = 0;
  ExchangeStats stats_;
};

}  // namespace ps

#endif  // WORKER_GRADIENT_PIPELINE_H_
