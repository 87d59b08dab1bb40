// Simulated workers that share a process, with a thread for each.
#ifndef TOOLS_BENCH_LOAD_REPLAY_GROUP_H_
#define TOOLS_BENCH_LOAD_REPLAY_GROUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/load/replay_worker.h"

namespace ps {

// The first worker of the group holds weights and the others do not, so that
// the group needs memory for one model only. Each method runs on all workers at
// the same time and returns when all are done. The first error ends the job, so
// that the other workers stop, too; it is returned with the worker's rank. For
// one thread at a time.
class ReplayGroup {
 public:
  // The workers of ranks [first_rank, end_rank). `replay` is borrowed and must
  // outlive the group.
  ReplayGroup(const Replay* replay, int first_rank, int end_rank);

  // See the methods of ReplayWorker.
  absl::Status Join();
  absl::Status Iterate(int64_t iterations);
  absl::Status Check();
  absl::Status Finish();
  ReplayCounts TakeCounts();  // Sum over all workers.

 private:
  absl::Status ForEach(const std::function<absl::Status(ReplayWorker*)>& work);

  const int first_rank_;
  std::vector<std::unique_ptr<ReplayWorker>> workers_;  // By rank.
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_GROUP_H_
