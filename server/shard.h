// All slices that one server holds.
#ifndef SERVER_SHARD_H_
#define SERVER_SHARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/config.pb.h"
#include "server/weight_slice.h"
#include "transport/shard_map.h"

namespace ps {

// What a worker's model looks like to a server.
struct ShardLayout {
  std::vector<int64_t> bucket_sizes;
  int64_t total_iterations = 0;
  // So many of the last buckets hold statistics.
  int64_t num_averaged_buckets = 0;

  bool operator==(const ShardLayout& other) const {
    return bucket_sizes == other.bucket_sizes &&
           total_iterations == other.total_iterations &&
           num_averaged_buckets == other.num_averaged_buckets;
  }
};

// Empty until the first worker says how large the model is. Thread-safe.
class Shard {
 public:
  // `config` is not owned and outlives the shard.
  Shard(const JobConfig* config, int server_index)
      : config_(config), server_index_(server_index) {}

  // The first call makes the slices. Errors: kInvalidArgument for sizes out of
  // range; kFailedPrecondition if an earlier call said something else.
  absl::Status SetLayout(const ShardLayout& layout);

  // The slice lives as long as the shard. Errors: kInvalidArgument if this
  // server has no such slice.
  absl::StatusOr<WeightSlice*> Find(int bucket, int slice) const;

  // Answers everyone who waits for any slice.
  void Fail(const absl::Status& failure);

  // Of the slice of weights that has received the fewest updates; -1 before
  // weights came.
  int64_t version() const;

  // Ranks that this slice waits for; all of them between iterations.
  std::set<int> AwaitedRanks() const;

 private:
  WeightSlice* Slowest() const;

  const JobConfig* const config_;  // Not owned.
  const int server_index_;

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  ShardLayout layout_ ABSL_GUARDED_BY(mu_);
  // By (bucket, slice); never removed.
  std::map<std::pair<int, int>, std::unique_ptr<WeightSlice>> slices_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace ps

#endif  // SERVER_SHARD_H_
