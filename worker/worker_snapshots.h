// Saves and restores a worker's state.
#ifndef WORKER_WORKER_SNAPSHOTS_H_
#define WORKER_WORKER_SNAPSHOTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "storage/process_snapshots.h"
#include "tensor/tensor.h"
#include "worker/gradient_pipeline.h"
#include "worker/records/run_totals.h"
#include "worker/saved_worker.h"
#include "worker/training_plan.h"
#include "worker/worker_context.h"

namespace ps {

struct WorkerSnapshotsOptions {
  // Not owned, and not null, like all pointers in this struct.
  Model* model = nullptr;
  GradientPipeline* pipeline = nullptr;
  RunTotalsCounter* totals = nullptr;
  Tensor* from_servers = nullptr;  // The weights that servers sent.
  TrainingSet set;
  std::string data;  // The MeaningOfNumbers, for weight files.
};

// The snapshots of a worker. Not thread-safe. Must not be used during pushes.
class WorkerSnapshots {
 public:
  // Opens the files of a worker; null if nothing is kept. Must be called before
  // the worker joins the job: another process may still use them. Errors: those
  // of ProcessSnapshots::Open. data_text, written: see ProcessSnapshotsOptions.
  static absl::StatusOr<std::unique_ptr<ProcessSnapshots>> OpenFiles(
      const JobConfig& config, int worker_rank, const std::string& data_text,
      std::function<void(absl::Duration took, const absl::Status& result)>
          written);

  WorkerSnapshots(const WorkerContext& context,
                  const WorkerSnapshotsOptions& options,
                  std::unique_ptr<ProcessSnapshots> files);

  // Finds the latest snapshot that all processes of the job have, and makes it
  // the servers' state. Returns its number; 0 if the job begins. Waits for all
  // workers; but one that was restarted while the others continue goes back
  // alone. Errors: kFailedPrecondition, with the snapshots of each process, if
  // they have none in common; kUnavailable if this worker cannot come back
  // alone; those of the client.
  absl::StatusOr<int64_t> Find();

  // Restores this worker's part of the snapshot that Find has found, or, if the
  // worker has lost it and is replaced, only the servers' weights, which have
  // been pulled. Errors: kDataLoss for damaged state, or if the servers'
  // weights are not those of this snapshot; but if this worker came back alone,
  // that is an error of ParameterClient::StartAgain.
  absl::StatusOr<ResumePoint> Load();

  // Prepares a worker that joins a running job, after `push` pushes, and has
  // pulled the servers' weights. Its residuals are lost, because servers may
  // have some of them; all other state is that of its latest snapshot, if there
  // is one. Errors: kDataLoss for damaged state.
  absl::StatusOr<ResumePoint> Join(int64_t push);

  // Saves the state after `point.push` pushes, in a job that keeps snapshots,
  // together with all servers and workers: it copies the state, waits for the
  // others, and returns while it is being written. `number` is the same for all
  // of them. A failure to write is logged and is not an error.
  absl::Status Save(int64_t number, const ResumePoint& point);

  // Waits until all files are written. Returns the error of the last Save.
  absl::Status Flush();

  // Records that the job is done: this worker need not find its servers again.
  absl::Status MarkDone();

 private:
  absl::StatusOr<SnapshotParts> Parts(const ResumePoint& point) const;
  absl::StatusOr<ResumePoint> LoadParts(const SnapshotParts& parts);
  // Returns the part "state", which stays this worker's own.
  absl::StatusOr<std::string> State() const;
  absl::Status LoadState(absl::string_view saved);
  absl::StatusOr<ResumePoint> Replace();
  // Returns the weights and statistics with the model's names.
  absl::StatusOr<std::string> NamedWeights() const;
  absl::StatusOr<int64_t> WeightsDigestNow() const;

  const WorkerContext context_;
  const WorkerSnapshotsOptions options_;
  const bool drift_;  // Whether workers may hold different weights.
  std::unique_ptr<ProcessSnapshots> files_;  // Null if nothing is kept.
  std::optional<int64_t> found_;
  bool alone_ = false;  // Whether it was found while the others continued.
};

}  // namespace ps

#endif  // WORKER_WORKER_SNAPSHOTS_H_
