// The interface of callbacks during training.
#ifndef WORKER_RECORDS_TRAINING_OBSERVER_H_
#define WORKER_RECORDS_TRAINING_OBSERVER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/metric.h"
#include "worker/records/run_recorder.h"

namespace ps {

// An observer. Only SnapshotWritten runs on other threads; none may block.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // Called before the first iteration.
  virtual void Begins(const RunHeader& header) = 0;
  virtual void Iteration(const IterationRecord& record) = 0;
  // Called after an evaluation, which follows the latest record, with its
  // metrics: the most important one first.
  virtual void Evaluated(const std::vector<Metric>& metrics) = 0;
  // Called when a snapshot was written or failed, by any thread.
  virtual void SnapshotWritten(absl::Duration took,
                               const absl::Status& result) = 0;
};

}  // namespace ps

#endif  // WORKER_RECORDS_TRAINING_OBSERVER_H_
