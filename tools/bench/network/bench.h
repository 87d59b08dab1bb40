// Trains one job with several settings, one after the other, on one slow
// network.
#ifndef TOOLS_BENCH_NETWORK_BENCH_H_
#define TOOLS_BENCH_NETWORK_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/bench/network/comparison.h"
#include "tools/bench/network/measures.h"
#include "tools/bench/network/settings.h"
#include "tools/process/local_cluster.h"

namespace ps {

struct NetworkBenchOptions {
  std::string job;                       // Name of the comparison.
  std::vector<NetworkSetting> settings;  // At least one.
  // See SlowNetworkOptions. At least one; with several, each run uses all of
  // them, and timed_iterations is not 0.
  std::vector<int64_t> bits_per_second;
  // The number of iterations that are timed at each bandwidth, after the
  // warm-up; the rest of a run has no limit. The time to a loss is then the
  // number of iterations to it times the mean of the timed ones, so all
  // settings must be synchronous and must not depend on measured times. 0: all
  // iterations are timed.
  int64_t timed_iterations = 0;
  MeasureOptions measure;
  // A run ends when it has reached its target, not only after its iterations.
  bool stop_at_target = false;
  // Runs continue to their last evaluation and write weights and a summary.
  // Otherwise they are stopped when their last iteration is recorded.
  bool evaluate = false;
  // Exists; each run gets a folder in it, "01-topk_0.01".
  std::string run_directory;
};

// The outcome, with the results so far.
struct NetworkBenchResult {
  // OK also if runs failed: their `failure` says so, and the other runs
  // continued. Otherwise kCancelled after Ctrl-C or SIGTERM, or the reason why
  // there is no network.
  absl::Status status;
  // By bandwidth. All have the same runs, perhaps none.
  std::vector<NetworkComparison> comparisons;
};

// Every worker and every server is a host of its own. Shows progress on stdout.
// A run whose messages did not all go over the links counts as failed. No
// process and no network remains, whatever happens.
NetworkBenchResult RunNetworkBench(const NetworkBenchOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BENCH_H_
