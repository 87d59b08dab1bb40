// Writes worker 0's events for TensorBoard.
#ifndef WORKER_TENSORBOARD_TENSORBOARD_H_
#define WORKER_TENSORBOARD_TENSORBOARD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/metric.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "worker/bucket_plan.h"
#include "worker/records/run_recorder.h"
#include "worker/residuals.h"
#include "worker/tensorboard/event_file.h"

namespace ps {

struct TensorBoardOptions {
  std::string run_directory;
  int64_t first_step = 1;       // The step of the first event.
  std::vector<Bucket> buckets;  // The buckets of the gradient.
  Backend* backend = nullptr;   // Not owned; must outlive this object.
};

// The events. docs/operations.md lists the tags. Not thread-safe.
class TensorBoard {
 public:
  // Creates the event file. Errors: those of EventFile::Create.
  static absl::StatusOr<std::unique_ptr<TensorBoard>> Create(
      const TensorBoardOptions& options);

  void Iteration(const IterationRecord& record);

  // Writes the evaluation after the latest iteration, and histograms of each
  // bucket of that iteration's gradient (in delta mode, of the worker's step)
  // and of the residual. `gradient` is [num_parameters]. Takes one pass over
  // each.
  absl::Status Evaluated(const std::vector<Metric>& metrics,
                         const Tensor& gradient, Residuals* residuals);

 private:
  TensorBoard(const TensorBoardOptions& options,
              std::unique_ptr<EventFile> file)
      : options_(options), file_(std::move(file)) {}

  absl::Status AddHistogram(const std::string& tag, const Tensor& values,
                            double threshold, TensorBoardSummary* summary);

  const TensorBoardOptions options_;
  const std::unique_ptr<EventFile> file_;
  int64_t step_ = 0;
  std::vector<double> thresholds_;  // [bucket], of the latest iteration.
  std::vector<float> host_;         // The copy of a bucket.
};

}  // namespace ps

#endif  // WORKER_TENSORBOARD_TENSORBOARD_H_
