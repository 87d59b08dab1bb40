// Runs one worker of a job, from the first connection to the last evaluation.
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
#include "worker/records/run_totals.h"

namespace ps {

class TrainingObserver;

struct TrainerOptions {
  JobConfig config;  // Validated, with cluster.servers.
  int worker_rank = 0;
  // The id of this process, different from any other that has had this rank.
  uint64_t incarnation = 0;
  std::string name;  // "host:pid".
  // The directory in which worker 0 records the run; if empty, it does not.
  std::string run_directory;
  // Returns true to make all workers save a snapshot after their next push, and
  // end, if the job's processes stop together (common/consistency.h). Called
  // before each push; null if only others ask for that.
  std::function<bool()> asked_to_stop;
  // Called once, when the worker is registered with all servers. May be null.
  std::function<void()> joined;
  // The interval of progress lines; zero means none.
  absl::Duration progress_interval;
  // The observers of the training. Not owned.
  std::vector<TrainingObserver*> observers;
  // Whether worker 0 writes event files for TensorBoard into run_directory.
  bool tensorboard = false;
  // Whether to compress on a separate thread; if unset, the backend says
  // whether this pays off. The results are the same.
  std::optional<bool> overlap_compression;
};

struct TrainingResult {
  std::vector<float> statistics;  // The model's, averaged over workers.
  std::vector<float> weights;     // The flat vector, the same on every worker.
  Evaluation evaluation;          // Set on worker 0 only.
  RunTotals totals;
};

// Trains on the calling thread. Errors: those of the config or the data, those
// that the servers report, or the reason why this worker gave up, which it also
// tells the servers; kUnavailable if the job has stopped and can be continued;
// kCancelled if it is done already.
absl::StatusOr<TrainingResult> Train(const TrainerOptions& options);

}  // namespace ps

#endif  // WORKER_TRAINER_H_
