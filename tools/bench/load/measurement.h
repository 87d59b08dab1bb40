// Servers and simulated workers, started, kept busy and watched.
#ifndef TOOLS_BENCH_LOAD_MEASUREMENT_H_
#define TOOLS_BENCH_LOAD_MEASUREMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/bench/load/replay_payloads.h"
#include "tools/bench/load/replay_worker.h"
#include "tools/bench/processes/cpu_time.h"
#include "tools/bench/load/memory_growth.h"
#include "tools/bench/load/options.h"

namespace ps {

struct LoadResult {
  double seconds = 0;      // Of all iterations but the first.
  int64_t iterations = 0;  // In this time.
  ReplayCounts counts;     // Of all workers, in this time.
  CpuTime servers;         // Used in this time, all together.
  CpuTime workers;
  std::vector<ProcessMemory> server_memory;
  std::vector<ProcessMemory> worker_memory;  // Of their processes.
  ReplayPlan plan;
  int64_t payload_bytes = 0;  // Prepared, in each worker process.
  int64_t worker_processes = 0;
  // Empty: the weights in the end are what they must be. Else why nobody knows.
  std::string not_verified;

  double SecondsPerIteration() const {
    return seconds / static_cast<double>(iterations);
  }
  // Seconds, of all of them together.
  double ServerCpuPerIteration() const {
    return (servers.user + servers.system) / static_cast<double>(iterations);
  }
  double WorkerCpuPerIteration() const {
    return (workers.user + workers.system) / static_cast<double>(iterations);
  }
  // The servers'. Nothing: too short to say. What worker processes have is up
  // to how many answers have come that nobody has taken yet.
  std::optional<bool> MemoryFlat() const {
    return AllFlat(server_memory, seconds);
  }
};

struct LoadRun {
  LoadSettings settings;
  LoadResult result;
};

// Those of latencies that are reported.
struct LoadPercentile {
  const char* name;
  double q;
};
constexpr LoadPercentile kLoadPercentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

// How far a load is.
struct LoadProgress {
  double seconds = 0;
  int64_t iterations = 0;
  int64_t server_bytes = 0;  // Memory of all servers, as looked at last.
};

// One load, from start to end. `on_progress` is called twice a second or less.
// Errors: those of BenchProcesses; kAborted for whatever goes wrong in a
// worker, with its rank, also for a weight in the end that is not what it must
// be, with its number, its value and what it must be.
absl::StatusOr<LoadResult> MeasureLoad(
    const LoadSettings& settings,
    const std::function<void(const LoadProgress&)>& on_progress);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_MEASUREMENT_H_
