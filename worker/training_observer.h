// What is told of a training while it goes on.
#ifndef WORKER_TRAINING_OBSERVER_H_
#define WORKER_TRAINING_OBSERVER_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/evaluation.h"
#include "worker/run_recorder.h"

namespace ps {

// The thread that trains calls all methods but SnapshotWritten; none may block.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;

  // Before the first iteration.
  virtual void Begins(const RunHeader& header) = 0;
  virtual void Iteration(const IterationRecord& record) = 0;
  // After the iteration of the latest record.
  virtual void Evaluated(const Evaluation& evaluation) = 0;
  // A snapshot was written or could not be. Called by any thread.
  virtual void SnapshotWritten(absl::Duration took,
                               const absl::Status& result) = 0;
};

}  // namespace ps

#endif  // WORKER_TRAINING_OBSERVER_H_
