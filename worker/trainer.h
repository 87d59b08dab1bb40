// One worker of a job, from the first connection to the last evaluation.
#ifndef WORKER_TRAINER_H_
#define WORKER_TRAINER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "worker/evaluator.h"
#include "worker/run_totals.h"

namespace ps {

struct TrainerOptions {
  JobConfig config;  // Validated, with cluster.servers.
  int worker_rank = 0;
  // Told apart from any other process that ever had this rank.
  uint64_t incarnation = 0;
  std::string name;  // "host:pid".
  // Where worker 0 records the run; empty: nowhere.
  std::string run_directory;
  // Whether to compress on a thread of its own; unset: if the backend says that
  // it pays. The results are the same.
  std::optional<bool> overlap_compression;
};

struct TrainingResult {
  std::vector<float> statistics;  // Of the model; averaged over workers.
  std::vector<float> weights;     // The flat vector, the same on every worker.
  Evaluation evaluation;          // Worker 0 only.
  RunTotals totals;
};

// Trains, on this thread. Errors: what is wrong with config or data, what the
// servers report, or why this worker gave up (which it then tells them).
absl::StatusOr<TrainingResult> Train(const TrainerOptions& options);

}  // namespace ps

#endif  // WORKER_TRAINER_H_
