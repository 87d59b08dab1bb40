// Times plain TCP and a parameter server on this machine, in turns.
#ifndef TOOLS_BENCH_PUSH_PULL_MEASUREMENT_H_
#define TOOLS_BENCH_PUSH_PULL_MEASUREMENT_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/processes/usage.h"
#include "tools/bench/push_pull/options.h"

namespace ps {

// The work of all workers in one timed part.
struct TimedPart {
  double seconds = 0;  // From the first worker's start to the last one's end.
  int64_t payload_bytes = 0;  // 4 for each element.
  int64_t answer_bytes = 0;   // Answers to the pushes.
  CpuTime server;             // Used during this time.
  CpuTime workers;            // Sum over all workers.

  double Gigabytes() const { return static_cast<double>(payload_bytes) * 1e-9; }
  double GigabytesPerSecond() const { return Gigabytes() / seconds; }
};

struct PushPullRound {
  TimedPart raw_push;  // Plain TCP, added up on arrival.
  TimedPart push;
  TimedPart raw_pull;  // Plain TCP, received in place.
  TimedPart pull;
};

// Starts the processes, times all rounds, and after each verifies the values
// that the workers hold, then calls `on_round`. `options` must have passed
// CheckPushPullOptions. Errors: those of BenchProcesses; kAborted if
// verification fails, naming worker, element, value and expected value.
absl::StatusOr<std::vector<PushPullRound>> MeasurePushPull(
    const PushPullOptions& options,
    const std::function<void(const PushPullRound&)>& on_round);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_MEASUREMENT_H_
