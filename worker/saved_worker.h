// Saves the parts of a worker's snapshot that change when the job continues
// with a different number of workers. All others are the worker's own
// (worker/worker_snapshots.h).
#ifndef WORKER_SAVED_WORKER_H_
#define WORKER_SAVED_WORKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/early_stopping.h"
#include "worker/records/run_totals.h"
#include "worker/residuals.h"
#include "worker/training_plan.h"

namespace ps {

constexpr char kProgressPart[] = "progress";
// Version 2 has the counts of training.early_stopping.
constexpr int kProgressVersion = 2;

// The point at which the job resumes.
struct ResumePoint {
  static constexpr int64_t kAllMetrics = -1;

  int64_t push = 0;  // The number of pushes done.
  // The size of metrics.jsonl then; kAllMetrics means all of it.
  int64_t metrics_bytes = 0;
  EarlyStoppingState early_stopping;  // Set on worker 0 only.
};

// The part "progress".
struct SavedProgress {
  ResumePoint point;
  int64_t weights_digest = 0;  // The digest of the servers' weights.
  TrainingSet set;
  // Whether the residuals are not those with which the worker's own weights
  // were saved.
  bool other_residuals = false;
};

std::string SaveProgress(const SavedProgress& progress,
                         const RunTotalsCounter& totals);
// Parses the part "progress". Errors: kDataLoss.
absl::StatusOr<SavedProgress> LoadProgress(absl::string_view bytes,
                                           RunTotalsCounter* totals);

// Returns the part "residuals": those of all buckets, in their order.
std::string SaveResiduals(const std::vector<float>& values);
// Parses the part "residuals". Errors: kDataLoss.
absl::StatusOr<std::vector<float>> LoadResiduals(absl::string_view bytes);

}  // namespace ps

#endif  // WORKER_SAVED_WORKER_H_
