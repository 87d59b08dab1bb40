// What one server saves of its shard, and how it takes it up again.
#ifndef SERVER_SHARD_SNAPSHOTS_H_
#define SERVER_SHARD_SNAPSHOTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/held_call.h"
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
};

// The calls of PsService that concern snapshots. They may take as long as
// copying the shard. Thread-safe.
class ShardSnapshots {
 public:
  explicit ShardSnapshots(const ShardSnapshotsOptions& options);

  // A worker has these; answers with a FindSnapshotsResponse.
  void Find(int rank, std::vector<int64_t> numbers,
            std::shared_ptr<HeldCall> call);

  // Errors: kNotFound or kDataLoss if there is no such snapshot, or it is
  // damaged; those of Shard::Load.
  absl::Status Restore(int64_t number);

  // A worker saves a snapshot; answers with a SaveSnapshotResponse.
  void Save(int rank, int64_t number, std::shared_ptr<HeldCall> call);

  // As for Rendezvous.
  void WorkerGone(int rank);
  void Fail(const absl::Status& failure);

 private:
  absl::StatusOr<grpc::ByteBuffer> Found();
  absl::StatusOr<grpc::ByteBuffer> SaveNow(int64_t number);

  const ShardSnapshotsOptions options_;

  Mutex mu_;
  std::map<int, std::vector<int64_t>> workers_have_ ABSL_GUARDED_BY(mu_);
  bool restored_ ABSL_GUARDED_BY(mu_) = false;
  int64_t restored_number_ ABSL_GUARDED_BY(mu_) = 0;

  Rendezvous finding_;
  Rendezvous saving_;
};

}  // namespace ps

#endif  // SERVER_SHARD_SNAPSHOTS_H_
