// Records the pushes of a session, in the files and for the observers of a
// training (worker/records).
#ifndef BRIDGE_PUSH_RECORDS_H_
#define BRIDGE_PUSH_RECORDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/metric.h"
#include "proto/config.pb.h"
#include "worker/exchange_stats.h"
#include "worker/gradient_pipeline.h"
#include "worker/records/run_recorder.h"
#include "worker/records/run_totals.h"
#include "worker/records/training_observer.h"

namespace ps {

struct PushRecordsOptions {
  const JobConfig* config = nullptr;
  int64_t num_parameters = 0;
  // Where metrics.jsonl and summary.json are written; empty: nowhere.
  std::string run_directory;
  std::vector<TrainingObserver*> observers;
  // None of the pointers is owned.
};

// Not thread-safe.
class PushRecords {
 public:
  // Errors: those of RunRecorder::Create.
  static absl::StatusOr<std::unique_ptr<PushRecords>> Create(
      const PushRecordsOptions& options);

  // Records a push that has just ended, and returns the seconds since the one
  // before it, or none for the first. The job may not have told a loss.
  absl::StatusOr<std::optional<double>> Push(const ExchangeStats& stats,
                                             bool has_loss,
                                             GradientPipeline* pipeline);

  // Records an evaluation after the latest push: its metrics, the most
  // important one first, at least one.
  void Evaluated(const std::vector<Metric>& metrics);

  // Writes summary.json. Errors: those of the file.
  absl::Status Close();

  const RunTotals& totals() const { return totals_.totals(); }
  int64_t num_pushes() const { return totals_.num_pushes(); }
  // The sum over all pushes; `compute` is what the training process has done.
  const Timings& timings() const { return timings_; }

 private:
  explicit PushRecords(const PushRecordsOptions& options);

  const PushRecordsOptions options_;
  RunTotalsCounter totals_;
  Timings timings_;
  std::unique_ptr<RunRecorder> recorder_;  // Null if nothing is recorded.
  std::optional<absl::Time> last_push_ended_;
  std::vector<Metric> metrics_;  // Of the last evaluation.
};

}  // namespace ps

#endif  // BRIDGE_PUSH_RECORDS_H_
