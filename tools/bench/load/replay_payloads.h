// The payloads that simulated workers push. The job's compressor makes them
// from gradients before the load begins, and the workers replay them.
#ifndef TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_
#define TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/load/gradient_source.h"
#include "tools/bench/worker.h"
#include "transport/shard_map.h"

namespace ps {

// How much is prepared. Worker r replays stream r % streams. A stream consists
// of `ring` consecutive iterations of one worker with its residual; iteration t
// replays iteration t % ring of it.
struct ReplayPlan {
  int64_t streams = 1;
  int64_t ring = 1;
};

struct ReplayLimits {
  int64_t workers = 1;
  int64_t elements = 0;  // In the model.
  int64_t ring = 1;      // Requested ring.
  int64_t bytes = 0;     // For all payloads.
};

// The largest number of elements that are compressed, so that preparation takes
// seconds.
constexpr int64_t kMaxPreparedElements = int64_t{1} << 29;

// The requested ring and one stream per worker, reduced as far as the limits
// require if an iteration of one worker takes `iteration_bytes`: first to fewer
// streams, then to a shorter ring. Both are at least 1 whatever the limits are.
ReplayPlan PlanReplay(const ReplayLimits& limits, int64_t iteration_bytes);

struct ReplayOptions {
  JobConfig config;
  const ShardMap* shard_map = nullptr;     // Not owned; outlives the payloads.
  const GradientSource* source = nullptr;  // Not owned; not used afterwards.
  int64_t ring = 1;                        // At least 1.
  int64_t bytes = 0;                       // Limit for all payloads.
};

// Immutable, and therefore thread-safe. Copies share the bytes.
class ReplayPayloads {
 public:
  // Equal options give equal payloads. Errors: those of NewCompressor and of
  // the source; kInvalidArgument if a gradient is not finite.
  static absl::StatusOr<ReplayPayloads> Make(const ReplayOptions& options);

  const ReplayPlan& plan() const { return plan_; }

  const BenchPayloads& At(int64_t rank, int64_t iteration) const {
    return payloads_[(rank % plan_.streams) * plan_.ring +
                     iteration % plan_.ring];
  }

  // Bytes of all buckets in one iteration of one worker.
  int64_t IterationBytes(int64_t rank, int64_t iteration) const;

  int64_t total_bytes() const { return total_bytes_; }

 private:
  ReplayPlan plan_;
  std::vector<BenchPayloads> payloads_;  // [stream x ring + iteration]
  int64_t total_bytes_ = 0;
};

// A job and what its workers push.
struct Replay {
  JobConfig job;  // With cluster.servers.
  ShardMap shard_map;
  ReplayPayloads payloads;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_
