// Saves and restores the state of one server's shard.
#ifndef SERVER_SHARD_SNAPSHOTS_H_
#define SERVER_SHARD_SNAPSHOTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/config.pb.h"
#include "proto/parameter_server.pb.h"
#include "server/barrier.h"
#include "server/held_call.h"
#include "server/log/server_log.h"
#include "server/shard.h"
#include "storage/process_snapshots.h"

namespace ps {

struct ShardSnapshotsOptions {
  int server_index = 0;
  const JobConfig* config = nullptr;  // Not owned, like all pointers here.
  Shard* shard = nullptr;
  // Null if nothing is kept, and workers only wait for each other.
  ProcessSnapshots* snapshots = nullptr;
  ServerLog* log = nullptr;  // The shard's log, or null.
  // Runs work soon, on another thread.
  std::function<void(std::function<void()> work)> schedule;
  // Ends the job.
  std::function<void(const absl::Status& failure)> fail;
};

// Handles the calls of ServerCalls that concern snapshots and the log. They may
// take as long as copying the shard. Thread-safe.
//
// The point from which a job resumes is decided once for all its processes, by
// what some of them still know. A server that starts with a log does not know
// whether it was the only one that was killed. It waits for a worker that knows
// the epoch of the log: then it resumes from the log. Or for all workers, if
// none of them knows anything: then the job begins, or goes back to a snapshot.
// A worker that gets different answers from two servers has all processes
// restarted (ParameterClient::StartAgain), and so does a server that gets a
// request that does not fit its state.
class ShardSnapshots {
 public:
  explicit ShardSnapshots(const ShardSnapshotsOptions& options);

  // The decision on a worker that wants to register.
  enum class Welcome {
    kRegister,
    kAskAgain,    // The server does not know its job yet, or reads its log.
    kOtherEpoch,  // It must learn from epoch() that its server is gone.
  };
  // Returns the decision. epoch: the one that the worker knows; 0 if none.
  Welcome Greet(int rank, uint64_t epoch);

  // The epoch, which is constant as long as the server has the job's weights.
  uint64_t epoch() const;

  // Whether the server has the job's weights, or at least some of the initial
  // ones; and whether these are from its log.
  bool up() const;
  bool recovered() const;

  // Records that a worker has registered, and knew this epoch.
  void Registered(const WorkerId& worker, uint64_t epoch);
  // Checks RegisterRequest.joined_after, `number`. Errors: kInvalidArgument.
  absl::Status CheckJoined(int rank, int64_t number) const;
  // Records that the worker joined the job after `number` pushes, at least 1.
  // An earlier process of this server may have been told.
  void HasJoined(int rank, int64_t number);

  // Returns the error for a caller that was refused with `refusal`. If its
  // request does not fit this server's state (kFailedPrecondition), a job that
  // keeps snapshots ends, and this is kUnavailable.
  absl::Status Refused(const absl::Status& refusal);

  // Returns kUnavailable until up().
  absl::Status CheckUp() const;

  // Prepares for initial weights of the shard.
  absl::Status BeforeInitialWeights();

  // Answers with a FindSnapshotsResponse: when all workers have asked, or at
  // once to a worker that was restarted while the job is running.
  void Find(const FindSnapshotsRequest& request,
            std::shared_ptr<HeldCall> call);

  // Restores a snapshot. Errors: kInvalidArgument for a worker that may not;
  // kNotFound or kDataLoss if there is no such snapshot, or it is damaged;
  // kUnavailable while another call restores, or if this does not fit the
  // server's state, which ends the job; those of Shard::Load.
  absl::Status Restore(const RestoreRequest& request);

  // Answers with a SaveSnapshotResponse.
  void Save(const SaveSnapshotRequest& request, std::shared_ptr<HeldCall> call);

  // Stops waiting for a worker at barriers.
  void WorkerGone(int rank);
  void Fail(const absl::Status& failure);

  // Has all processes restarted. Returns the error for the caller.
  absl::Status StartAgain(absl::string_view why);

 private:
  enum class Stage {
    kUndecided,  // There is a log, and the job may resume from it.
    kReadsLog,
    kNew,        // The job begins, or goes back to a snapshot.
    kRestoring,  // Worker 0 has chosen a snapshot.
    kUp,
  };

  // Counts a worker that has come, or is gone; after the last of all, the job
  // is new, if nothing is decided.
  void CountAsArrived(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadLog();
  absl::Status Recover();
  void Arrive(Barrier* barrier, int rank, int64_t number,
              std::shared_ptr<HeldCall> call);
  absl::Status BeginLog(int64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(log_mu_);
  absl::StatusOr<grpc::ByteBuffer> Found();
  // Returns the answer to a worker that goes back alone.
  absl::StatusOr<FindSnapshotsResponse> FoundAlone(
      const FindSnapshotsRequest& request) const;
  absl::Status Rewind(int rank, int64_t number);
  // Returns the log from this number on, or from an earlier one. Workers that
  // go back at the same time share it.
  absl::StatusOr<std::shared_ptr<const LoggedJob>> LogFrom(int64_t number);
  absl::Status Join(const RestoreRequest& request);
  absl::StatusOr<grpc::ByteBuffer> SaveNow(int64_t number);
  absl::Status RestoreNow(int64_t number);

  const ShardSnapshotsOptions options_;
  const int num_workers_;
  const bool workers_come_back_;  // See common/consistency.h, like the next.
  const bool workers_join_;

  mutable Mutex mu_;
  Stage stage_ ABSL_GUARDED_BY(mu_);
  uint64_t epoch_ ABSL_GUARDED_BY(mu_);
  bool recovered_ ABSL_GUARDED_BY(mu_) = false;
  // The workers that came without an epoch, or left, before the decision.
  std::set<int> came_ ABSL_GUARDED_BY(mu_);
  // The incarnation of each worker that knows where the job resumes.
  std::map<int, uint64_t> members_ ABSL_GUARDED_BY(mu_);
  // The incarnation of each worker that came without knowing this server: when
  // it registers again, after its connection broke, it knows it.
  std::map<int, uint64_t> newcomers_ ABSL_GUARDED_BY(mu_);
  // The latest requests of each worker.
  std::map<int, FindSnapshotsRequest> workers_have_ ABSL_GUARDED_BY(mu_);
  std::map<int, SaveSnapshotRequest> workers_save_ ABSL_GUARDED_BY(mu_);
  // The workers that joined and have not saved.
  std::set<int> behind_ ABSL_GUARDED_BY(mu_);
  std::optional<int64_t> restored_ ABSL_GUARDED_BY(mu_);

  // Held while the log's files change, or are read for workers.
  Mutex log_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  // The log in memory, for workers that have not caught up, and the number from
  // which it begins.
  std::weak_ptr<const LoggedJob> read_ ABSL_GUARDED_BY(log_mu_);
  int64_t read_from_ ABSL_GUARDED_BY(log_mu_) = 0;

  Barrier finding_;
  Barrier saving_;
};

}  // namespace ps

#endif  // SERVER_SHARD_SNAPSHOTS_H_
