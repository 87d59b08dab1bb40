// The weights that servers must have after a load, worked out without them.
#ifndef TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_
#define TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/bench/load/replay_payloads.h"
#include "proto/config.pb.h"
#include "transport/shard_map.h"

namespace ps {

// Whether CheckReplayedWeights knows the job's rule: an update is the workers'
// mean times a constant rate, taken off; and all of them wait for each other.
// Errors: kUnimplemented naming the first field that says otherwise.
absl::Status WeightsCanBeChecked(const JobConfig& job);

// The elements from `begin` on of what worker 0 gives the servers at the start:
// small, so that updates by real gradients are not lost in rounding; zeros,
// too.
void FillFirstReplayWeights(int64_t begin, absl::Span<float> weights);

struct Replayed {
  const JobConfig* job = nullptr;       // WeightsCanBeChecked.
  const ShardMap* shard_map = nullptr;  // Nothing is owned.
  const ReplayPayloads* payloads = nullptr;
  int64_t iterations = 0;  // That every worker has pushed.
};

// Adds up what the workers pushed, in order of rank, divides by their number
// and takes that off, iteration by iteration, in float: bit for bit what a
// server must do. `weights`: the whole model. Errors: kDataLoss with the first
// element that differs, its value and what it must be.
absl::Status CheckReplayedWeights(const Replayed& replayed,
                                  absl::Span<const float> weights);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_
