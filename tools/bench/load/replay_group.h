// Simulated workers that share a process: a thread for each.
#ifndef TOOLS_BENCH_LOAD_REPLAY_GROUP_H_
#define TOOLS_BENCH_LOAD_REPLAY_GROUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/load/replay_worker.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// All pointers are borrowed, and outlive the group.
struct ReplayGroupOptions {
  const JobConfig* job = nullptr;  // With cluster.servers.
  const ShardMap* shard_map = nullptr;
  const ReplayPayloads* payloads = nullptr;
  int first_rank = 0;
  int end_rank = 1;  // One behind the last.
};

// The first worker of the group holds weights, and the others do not: memory is
// that of one model. Methods make all workers do it at the same time, and
// return when all have. The first error ends the job, which the others then
// notice; it is returned with the worker's rank. One thread at a time.
class ReplayGroup {
 public:
  explicit ReplayGroup(const ReplayGroupOptions& options);

  // As the methods of ReplayWorker.
  absl::Status Join();
  absl::Status Iterate(int64_t iterations);
  absl::Status Check();
  absl::Status Finish();
  ReplayCounts TakeCounts();  // Of all together.

 private:
  absl::Status ForEach(const std::function<absl::Status(ReplayWorker*)>& work);

  const int first_rank_;
  std::vector<std::unique_ptr<ReplayWorker>> workers_;  // By rank.
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_GROUP_H_
