// A simulated worker: pushes prepared payloads as fast as servers answer.
#ifndef TOOLS_BENCH_LOAD_REPLAY_WORKER_H_
#define TOOLS_BENCH_LOAD_REPLAY_WORKER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/bench/load/latency_histogram.h"
#include "tools/bench/load/replay_payloads.h"
#include "proto/config.pb.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"

namespace ps {

// What workers did, and how long they waited, in nanoseconds.
struct ReplayCounts {
  int64_t pushes = 0;          // Messages: one for each slice.
  int64_t payload_bytes = 0;   // Without the messages' headers.
  int64_t answer_bytes = 0;    // With them.
  LatencyHistogram push;       // From the start of the call to its answer.
  LatencyHistogram iteration;  // From the first push to the last answer.

  void Add(const ReplayCounts& other);

  // The same as numbers. Errors of FromNumbers: kInvalidArgument for what
  // Numbers() does not return.
  std::vector<int64_t> Numbers() const;
  static absl::StatusOr<ReplayCounts> FromNumbers(
      const std::vector<int64_t>& numbers);
};

// All pointers are borrowed, and outlive the worker.
struct ReplayWorkerOptions {
  const JobConfig* job = nullptr;  // With cluster.servers.
  const ShardMap* shard_map = nullptr;
  const ReplayPayloads* payloads = nullptr;
  int rank = 0;
  // Keeps the model's weights and writes every answer into them, to be checked.
  // Must be set of rank 0. Others take answers and drop them.
  bool holds_weights = false;
};

// One thread at a time. Errors of all methods: those of ParameterClient, and
// kDataLoss for answers that are not what they must be.
class ReplayWorker {
 public:
  explicit ReplayWorker(const ReplayWorkerOptions& options);

  // Joins the job and pulls its weights; rank 0 gives the first ones.
  absl::Status Join();

  // Pushes everything, awaits and takes all answers, so many times.
  absl::Status Iterate(int64_t iterations);

  // Pulls all weights if the worker holds some, and compares: what it holds
  // must be what the servers have, and, where WeightsCanBeChecked, what they
  // must have.
  absl::Status Check();

  // Waits until all workers are so far; or gives up, which ends the job.
  absl::Status Finish(const absl::Status& failure);

  // Since the last call.
  ReplayCounts TakeCounts();

 private:
  int64_t BucketBegin(int bucket) const { return bucket_begins_[bucket]; }
  absl::Status RunIteration();
  absl::Status Take(const SliceAnswer& answer);
  absl::Status Pull(const AnswerHandler& handler);

  const ReplayWorkerOptions options_;
  const bool checked_;                  // WeightsCanBeChecked.
  std::vector<int64_t> bucket_begins_;  // In the model.
  std::unique_ptr<ParameterClient> client_;
  std::vector<float> weights_;  // The whole model, or empty.
  int64_t iteration_ = 0;
  ReplayCounts counts_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_WORKER_H_
