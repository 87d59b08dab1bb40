// Records a worker's training: the run directory, event files, the dump of
// gradients, progress lines, and observers.
#ifndef WORKER_TRAINING_RECORDS_H_
#define WORKER_TRAINING_RECORDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "tensor/tensor.h"
#include "worker/gradient_dump.h"
#include "worker/gradient_pipeline.h"
#include "worker/records/best_weights.h"
#include "worker/records/evaluation.h"
#include "worker/records/progress_log.h"
#include "worker/records/run_recorder.h"
#include "worker/records/run_totals.h"
#include "worker/records/training_observer.h"
#include "worker/saved_worker.h"
#include "worker/tensorboard/tensorboard.h"
#include "worker/training_parts.h"

namespace ps {

// The options. All pointers must outlive the records.
struct TrainingRecordsOptions {
  const JobConfig* config = nullptr;
  int worker_rank = 0;
  // See TrainerOptions.
  std::string run_directory;
  bool tensorboard = false;
  absl::Duration progress_interval;
  std::vector<TrainingObserver*> observers;

  const TrainingParts* parts = nullptr;
  const RunTotalsCounter* totals = nullptr;
  GradientPipeline* pipeline = nullptr;
  const Tensor* gradient = nullptr;      // [num_parameters]
  const Tensor* from_servers = nullptr;  // The servers' weights.
  ResumePoint resumed;                   // All 0 in a new job.
};

// The records. Only worker 0 writes files. Not thread-safe.
class TrainingRecords {
 public:
  // Errors: those of creating files, and of GradientDump::Create.
  static absl::StatusOr<std::unique_ptr<TrainingRecords>> Create(
      const TrainingRecordsOptions& options);

  // Records a push; the totals include it.
  absl::Status Push(const MadePush& outcome, int64_t push);

  // Records the evaluation of these weights. Saves them if they are the best so
  // far (checkpoint.keep_best).
  absl::Status Evaluated(const Evaluation& evaluation);

  // Closes the records after the last push.
  absl::Status Close();

  // Writes all parameters and statistics at the end of the training. Errors
  // have advice.
  absl::Status WriteWeights(const std::vector<float>& weights,
                            const std::vector<float>& statistics);
  absl::Status WriteSummary(const Evaluation& evaluation, bool stopped_early);

  // The size of metrics.jsonl; 0 if there is none.
  int64_t metrics_bytes() const {
    return recorder_ == nullptr ? 0 : recorder_->metrics_bytes();
  }

 private:
  explicit TrainingRecords(const TrainingRecordsOptions& options)
      : options_(options) {}

  absl::Status Open();
  absl::Status OpenDump();
  absl::Status KeepBest(const Evaluation& evaluation);
  absl::Status AddIteration(const MadePush& outcome, int64_t push);
  // Returns the rate of the last update before the push ends, or with it.
  double LearningRateOf(int64_t push) const;
  double EpochsDone() const;
  const JobConfig& config() const { return *options_.config; }
  const RunTotals& totals() const { return options_.totals->totals(); }
  const Model& model() const { return *options_.parts->model; }
  const TrainingPlan& plan() const { return *options_.parts->plan; }
  Backend* backend() const { return options_.parts->backend.get(); }

  const TrainingRecordsOptions options_;
  std::unique_ptr<RunRecorder> recorder_;     // Null if nothing is recorded.
  std::unique_ptr<TensorBoard> tensorboard_;  // Null if not asked for.
  std::unique_ptr<GradientDump> dump_;        // Null if not configured.
  std::unique_ptr<ProgressLog> progress_;
  std::optional<BestEvaluation> best_;  // The evaluation of best.safetensors.
};

}  // namespace ps

#endif  // WORKER_TRAINING_RECORDS_H_
