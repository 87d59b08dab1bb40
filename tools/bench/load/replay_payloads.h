// What simulated workers push: payloads that the job's compressor made of
// gradients before the load begins, and that are replayed.
#ifndef TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_
#define TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/load/gradient_source.h"
#include "compressors/payload/payload_buffer.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// How much is prepared. Worker r replays stream r % streams, whose iterations
// follow each other as those of a worker do, with its residual: iteration t is
// t % ring of them.
struct ReplayPlan {
  int64_t streams = 1;
  int64_t ring = 1;
};

struct ReplayLimits {
  int64_t workers = 1;
  int64_t elements = 0;  // Of the model.
  int64_t ring = 1;      // Wanted.
  int64_t bytes = 0;     // Of all payloads.
};

// Gradients are compressed for so many elements at most: seconds.
constexpr int64_t kMaxPreparedElements = int64_t{1} << 29;

// The ring that is wanted and a stream for each worker, or what keeps within
// the limits where an iteration of one worker takes `iteration_bytes`: first
// fewer streams, then a shorter ring; at least one of each, whatever the limits
// say.
ReplayPlan PlanReplay(const ReplayLimits& limits, int64_t iteration_bytes);

struct ReplayOptions {
  JobConfig config;
  const ShardMap* shard_map = nullptr;     // Not owned; outlives the payloads.
  const GradientSource* source = nullptr;  // Not owned; not used afterwards.
  int64_t ring = 1;                        // At least 1.
  int64_t bytes = 0;                       // What all should take at most.
};

// Immutable, so any thread may read it. Copies share the bytes.
class ReplayPayloads {
 public:
  // The same for equal options. Errors: those of NewCompressor and of the
  // source; kInvalidArgument if the compressor finds a gradient not finite.
  static absl::StatusOr<ReplayPayloads> Make(const ReplayOptions& options);

  const ReplayPlan& plan() const { return plan_; }

  // One payload for each slice of the bucket.
  const std::vector<PayloadBuffer>& Bucket(int64_t rank, int64_t iteration,
                                           int bucket) const {
    return payloads_[(rank % plan_.streams) * plan_.ring +
                     iteration % plan_.ring][bucket];
  }

  // Of one worker's iteration; all buckets.
  int64_t IterationBytes(int64_t rank, int64_t iteration) const;

  int64_t total_bytes() const { return total_bytes_; }

 private:
  using Buckets = std::vector<std::vector<PayloadBuffer>>;  // [bucket][slice]

  ReplayPlan plan_;
  std::vector<Buckets> payloads_;  // [stream x ring + iteration]
  int64_t total_bytes_ = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAY_PAYLOADS_H_
