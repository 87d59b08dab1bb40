// The weights that servers must have after a load, computed without servers.
#ifndef TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_
#define TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/config.pb.h"
#include "tools/bench/load/replay_payloads.h"

namespace ps {

// OK if CheckReplayedWeights supports the job: an update subtracts the workers'
// mean times a constant rate, and all workers wait for each other. Errors:
// kUnimplemented naming the first field that differs.
absl::Status WeightsCanBeChecked(const JobConfig& job);

// The initial weights that worker 0 sends, from element `begin` on. They are
// small, so that updates by real gradients are not lost in rounding, and some
// are 0.
void FillFirstReplayWeights(int64_t begin, absl::Span<float> weights);

// Adds up what the workers pushed in `iterations` iterations, in order of rank,
// divides by their number and subtracts the result, iteration by iteration, in
// float, so that the weights equal a server's bit for bit. The job must pass
// WeightsCanBeChecked. `weights` is the whole model. Errors: kDataLoss with the
// first element that differs, its value and the expected value.
absl::Status CheckReplayedWeights(const Replay& replay, int64_t iterations,
                                  absl::Span<const float> weights);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_REPLAYED_WEIGHTS_H_
