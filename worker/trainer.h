// One worker of a job, from the first connection to the last evaluation.
#ifndef WORKER_TRAINER_H_
#define WORKER_TRAINER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "worker/evaluator.h"
#include "worker/run_totals.h"

namespace ps {

class TrainingObserver;

struct TrainerOptions {
  JobConfig config;  // Validated, with cluster.servers.
  int worker_rank = 0;
  // Different from that of any other process that has had this rank.
  uint64_t incarnation = 0;
  std::string name;  // "host:pid".
  // Where worker 0 records the run; empty: nowhere.
  std::string run_directory;
  // If the job's processes stop together (common/consistency.h): when this
  // becomes true, all workers save a snapshot after their next push, and end.
  // Called before each push; null: only others ask for that.
  std::function<bool()> asked_to_stop;
  // Called once, when the worker is registered with all servers. May be null.
  std::function<void()> joined;
  // How often to log the progress; zero: never.
  absl::Duration progress_interval;
  // Are told of each iteration. Not owned.
  std::vector<TrainingObserver*> observers;
  // Worker 0 also writes event files for TensorBoard into run_directory.
  bool tensorboard = false;
  // Whether to compress on a separate thread; unset: if the backend says that
  // this pays off. The results are the same.
  std::optional<bool> overlap_compression;
};

struct TrainingResult {
  std::vector<float> statistics;  // The model's; averaged over workers.
  std::vector<float> weights;     // The flat vector, the same on every worker.
  Evaluation evaluation;          // Worker 0 only.
  RunTotals totals;
};

// Trains on the calling thread. Errors: those of the config or the data, those
// that the servers report, or the reason why this worker gave up, which it also
// tells the servers; kUnavailable if the job has stopped and can be continued;
// kCancelled if it is done already.
absl::StatusOr<TrainingResult> Train(const TrainerOptions& options);

}  // namespace ps

#endif  // WORKER_TRAINER_H_
