// The parts of a worker's snapshot that change when the job goes on with
// another number of workers. All others are the worker's own
// (worker/worker_snapshots.h).
#ifndef WORKER_SAVED_WORKER_H_
#define WORKER_SAVED_WORKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/early_stopping.h"
#include "worker/residuals.h"
#include "worker/run_totals.h"
#include "worker/training_plan.h"

namespace ps {

constexpr char kProgressPart[] = "progress";
// The second one has what training.early_stopping has counted.
constexpr int kProgressVersion = 2;

// Where the job goes on.
struct ResumePoint {
  static constexpr int64_t kAllMetrics = -1;

  int64_t push = 0;  // Pushes that have been made.
  // What metrics.jsonl had then; kAllMetrics: all that it has.
  int64_t metrics_bytes = 0;
  EarlyStoppingState early_stopping;  // Worker 0 only.
};

// The part "progress".
struct SavedProgress {
  ResumePoint point;
  int64_t weights_digest = 0;  // Of the servers' weights.
  TrainingSet set;
  // The residuals are no longer those with which the worker's own weights were
  // saved.
  bool other_residuals = false;
};

std::string SaveProgress(const SavedProgress& progress,
                         const RunTotalsCounter& totals);
// Errors: kDataLoss.
absl::StatusOr<SavedProgress> LoadProgress(absl::string_view bytes,
                                           RunTotalsCounter* totals);

// The part "residuals": those of all buckets, in their order.
std::string SaveResiduals(const std::vector<float>& values);
// Errors: kDataLoss.
absl::StatusOr<std::vector<float>> LoadResiduals(absl::string_view bytes);

}  // namespace ps

#endif  // WORKER_SAVED_WORKER_H_
