// A simulated worker that pushes prepared payloads as fast as servers answer.
#ifndef TOOLS_BENCH_LOAD_REPLAY_WORKER_H_
#define TOOLS_BENCH_LOAD_REPLAY_WORKER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/bench/load/latency_histogram.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/worker.h"
#include "transport/parameter_client.h"

namespace ps {

// What workers did, and how long they waited. Times are in nanoseconds.
struct ReplayCounts {
  int64_t pushes = 0;          // Messages; one per slice.
  int64_t payload_bytes = 0;   // Without the messages' headers.
  int64_t answer_bytes = 0;    // With headers.
  LatencyHistogram push;       // From the start of the call to its answer.
  LatencyHistogram iteration;  // From the first push to the last answer.

  void Add(const ReplayCounts& other);

  // The counts as numbers. Errors of FromNumbers: kInvalidArgument for numbers
  // that Numbers() cannot return.
  std::vector<int64_t> Numbers() const;
  static absl::StatusOr<ReplayCounts> FromNumbers(
      const std::vector<int64_t>& numbers);
};

// For one thread at a time. Errors of all methods: those of ParameterClient,
// and kDataLoss for wrong answers.
class ReplayWorker {
 public:
  // With holds_weights, which rank 0 needs, it keeps the model's weights and
  // writes every answer into them, so that they can be checked; without, it
  // drops the answers. `replay` is borrowed and must outlive the worker.
  ReplayWorker(const Replay* replay, int rank, bool holds_weights);

  // Joins the job and pulls its weights; rank 0 sends the initial weights.
  absl::Status Join();

  // Makes `iterations` iterations: pushes everything, then awaits and takes all
  // answers.
  absl::Status Iterate(int64_t iterations);

  // If the worker holds weights, pulls all weights and checks that both are
  // equal and, where WeightsCanBeChecked, that they have the expected values.
  absl::Status Check();

  // Waits until all workers have finished. With a failure it gives up instead,
  // which ends the job.
  absl::Status Finish(const absl::Status& failure);

  // The counts since the last call.
  ReplayCounts TakeCounts();

 private:
  absl::Status RunIteration();
  absl::Status Take(const SliceAnswer& answer);

  const Replay* const replay_;
  const bool holds_weights_;
  const bool checked_;  // Result of WeightsCanBeChecked.
  BenchWorker worker_;
  std::vector<float> weights_;  // The whole model, or empty.
  ReplayCounts counts_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_WORKER_H_
