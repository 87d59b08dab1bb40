// A worker of a job that pushes and pulls without training, for benchmarks.
#ifndef TOOLS_BENCH_WORKER_H_
#define TOOLS_BENCH_WORKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compressors/payload/payload_buffer.h"
#include "proto/config.pb.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/bucket_plan.h"
#include "worker/join_cluster.h"

namespace ps {

// What a worker pushes in one iteration: a payload for each slice.
using BenchPayloads = std::vector<std::vector<PayloadBuffer>>;  // By bucket.

// The slices of a model that is one vector, in buckets of
// training.bucket_megabytes. Errors: those of ShardMap::Create.
absl::StatusOr<ShardMap> BenchShardMap(const JobConfig& job, int64_t elements);

// For one thread at a time. Errors of all methods: those of ParameterClient.
class BenchWorker {
 public:
  // `job` must name its cluster.servers; it is borrowed and must outlive the
  // worker. The map is one of PlanShards, and not used afterwards.
  BenchWorker(const JobConfig* job, const ShardMap* shard_map, int rank);

  // Joins the job with a new incarnation. Worker 0 sends the initial weights
  // [elements], which other workers may leave empty. Errors: also those of
  // JoinCluster.
  absl::Status Join(absl::Span<const float> first_weights);

  // Makes the pushes of one iteration, then awaits all answers.
  absl::Status Push(const BenchPayloads& payloads, bool wants_weights,
                    const AnswerHandler& handler);

  // Pulls the weights after all pushes so far, or, in a job whose workers
  // drift, the current ones. Errors: also kDataLoss if some are missing.
  absl::Status Pull(const AnswerHandler& handler);

  // Waits until all workers have finished. With a failure it gives up instead,
  // which ends the job. Does nothing before Join().
  absl::Status Finish(const absl::Status& failure);

  int rank() const { return rank_; }
  int64_t iteration() const { return iteration_; }  // Pushed so far.
  int64_t elements() const { return buckets_.back().end; }
  // The offset of a slice in the model.
  int64_t Begin(const Slice& slice) const {
    return buckets_[slice.bucket].begin + slice.begin;
  }

 private:
  const JobConfig* const job_;
  const int rank_;
  std::vector<Bucket> buckets_;
  ClusterLink link_;
  int64_t iteration_ = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_WORKER_H_
