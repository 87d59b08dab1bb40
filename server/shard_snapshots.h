// What one server saves of its shard, and how it takes it up again.
#ifndef SERVER_SHARD_SNAPSHOTS_H_
#define SERVER_SHARD_SNAPSHOTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/parameter_server.pb.h"
#include "server/held_call.h"
#include "server/log/server_log.h"
#include "server/rendezvous.h"
#include "server/shard.h"
#include "storage/process_snapshots.h"

namespace ps {

struct ShardSnapshotsOptions {
  int server_index = 0;
  int num_workers = 0;
  Shard* shard = nullptr;  // Not owned, like all pointers here.
  // Null: nothing is kept, and workers only wait for each other.
  ProcessSnapshots* snapshots = nullptr;
  ServerLog* log = nullptr;  // The shard's; null: only snapshots are kept.
  bool replace_lost_workers = false;  // As in CheckpointConfig.
  bool workers_come_back = false;     // As in MembershipOptions.
  bool workers_join = false;          // Likewise.
  // Runs work soon, on another thread.
  std::function<void(std::function<void()> work)> schedule;
  // Ends the job.
  std::function<void(const absl::Status& failure)> fail;
  // Called when workers may register again.
  std::function<void()> recovered;
};

// The calls of PsService that concern snapshots and the log. They may take as
// long as copying the shard. Thread-safe.
//
// A server that starts does not know whether the job goes on without a break,
// and it was the only one that was killed, or whether the whole job is started.
// The first worker that registers says so: it knows the epoch in the server's
// log, or it does not.
class ShardSnapshots {
 public:
  explicit ShardSnapshots(const ShardSnapshotsOptions& options);

  // A worker registers, and knows this epoch of the server; 0: none. Returns
  // false while the server reads its log.
  bool Welcome(uint64_t epoch);

  // Stays as it is as long as the server has the job's weights. Valid when
  // Welcome has returned true.
  uint64_t epoch() const;

  // Whether the server has gone on from its log.
  bool recovered() const;

  // A worker has registered, and knew this epoch.
  void Registered(const WorkerId& worker, uint64_t epoch);

  // What to tell a worker whose push was refused like this. If it does not fit
  // what a server has recovered, or what a worker did that was started again,
  // the job ends, and this is kUnavailable.
  absl::Status Refused(int rank, const absl::Status& refusal);

  // kUnavailable until Welcome returns true.
  absl::Status CheckReady() const;

  // The shard is about to get first weights.
  absl::Status BeforeFirstWeights();

  // Answers with a FindSnapshotsResponse: when all workers have asked, or at
  // once a worker that was started again while the job is under way.
  void Find(const FindSnapshotsRequest& request,
            std::shared_ptr<HeldCall> call);

  // Errors: kInvalidArgument for a worker that may not; kNotFound or kDataLoss
  // if there is no such snapshot, or it is damaged; kUnavailable while another
  // call restores, or if a worker cannot go back, which ends the job; those of
  // Shard::Load.
  absl::Status Restore(const RestoreRequest& request);

  // Answers with a SaveSnapshotResponse.
  void Save(const SaveSnapshotRequest& request, std::shared_ptr<HeldCall> call);

  // As for Rendezvous.
  void WorkerGone(int rank);
  void Fail(const absl::Status& failure);

 private:
  enum class Stage { kUndecided, kReadsLog, kNew, kRecovered };

  absl::Status Recover();
  absl::Status BeginLog(int64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(log_mu_);
  absl::StatusOr<grpc::ByteBuffer> Found();
  // The answer to a worker that goes back alone.
  absl::StatusOr<FindSnapshotsResponse> FoundAlone(
      const FindSnapshotsRequest& request) const;
  absl::Status Rewind(int rank, int64_t number);
  absl::Status Join(const RestoreRequest& request);
  absl::Status RestoreAll(int64_t number);
  absl::StatusOr<grpc::ByteBuffer> SaveNow(int64_t number);
  absl::Status RestoreNow(int64_t number);

  const ShardSnapshotsOptions options_;

  mutable Mutex mu_;
  Stage stage_ ABSL_GUARDED_BY(mu_) = Stage::kUndecided;
  uint64_t epoch_ ABSL_GUARDED_BY(mu_);
  // All workers know where the job goes on, or this server has recovered.
  bool found_ ABSL_GUARDED_BY(mu_) = false;
  // The incarnation of each worker that knows; and of those that have gone
  // back.
  std::map<int, uint64_t> members_ ABSL_GUARDED_BY(mu_);
  std::set<int> came_back_ ABSL_GUARDED_BY(mu_);
  // The latest request of each worker.
  std::map<int, FindSnapshotsRequest> workers_have_ ABSL_GUARDED_BY(mu_);
  std::map<int, SaveSnapshotRequest> workers_save_ ABSL_GUARDED_BY(mu_);
  bool restoring_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<int64_t> restored_ ABSL_GUARDED_BY(mu_);

  // Held while the log's files change.
  Mutex log_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  bool has_log_ ABSL_GUARDED_BY(log_mu_) = false;  // This job's.

  Rendezvous finding_;
  Rendezvous saving_;
};

}  // namespace ps

#endif  // SERVER_SHARD_SNAPSHOTS_H_
