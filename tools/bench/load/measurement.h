// Starts servers and simulated workers, keeps them busy and watches them.
#ifndef TOOLS_BENCH_LOAD_MEASUREMENT_H_
#define TOOLS_BENCH_LOAD_MEASUREMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/load/memory_growth.h"
#include "tools/bench/load/options.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/load/replay_worker.h"
#include "tools/bench/processes/usage.h"

namespace ps {

struct LoadResult {
  double seconds = 0;      // For all iterations but the first.
  int64_t iterations = 0;  // During this time.
  ReplayCounts counts;     // All workers, during this time.
  CpuTime servers;         // All servers, during this time.
  CpuTime workers;
  std::vector<ProcessMemory> server_memory;
  std::vector<ProcessMemory> worker_memory;  // By worker process.
  ReplayPlan plan;
  int64_t payload_bytes = 0;  // Prepared, in each worker process.
  int64_t worker_processes = 0;
  // Empty if the final weights were verified to be correct. Otherwise the
  // reason why they could not be verified.
  std::string not_verified;

  double SecondsPerIteration() const {
    return seconds / static_cast<double>(iterations);
  }
  // Seconds of all servers together.
  double ServerCpuPerIteration() const {
    return servers.total() / static_cast<double>(iterations);
  }
  double WorkerCpuPerIteration() const {
    return workers.total() / static_cast<double>(iterations);
  }
  // Whether the servers' memory is flat; no value if the load was too short to
  // tell. The memory of worker processes is not judged, because it depends on
  // how many answers have arrived that have not been read yet.
  std::optional<bool> MemoryFlat() const {
    return AllFlat(server_memory, seconds);
  }
};

struct LoadRun {
  LoadSettings settings;
  LoadResult result;
};

// The percentiles of latencies that are reported.
struct LoadPercentile {
  const char* name;
  double q;
};
constexpr LoadPercentile kLoadPercentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

// The progress of a load.
struct LoadProgress {
  double seconds = 0;
  int64_t iterations = 0;
  int64_t server_bytes = 0;  // Memory of all servers, last sample.
};

// Runs one load from start to end. `on_progress` is called at most twice a
// second. Errors: those of BenchProcesses; kAborted for any error of a worker,
// with its rank, also for a wrong final weight, with its index, its value and
// the expected value.
absl::StatusOr<LoadResult> MeasureLoad(
    const LoadSettings& settings,
    const std::function<void(const LoadProgress&)>& on_progress);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_MEASUREMENT_H_
